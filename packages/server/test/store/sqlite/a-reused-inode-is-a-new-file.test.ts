import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

const INODES = 2;

/** A file system with two inodes for databases: ext4 reuses the inode of a deleted file. */
vi.mock(import('node:fs'), async (importOriginal) => {
  const original = await importOriginal();
  const files: string[] = [];
  const statSync = (path: string, options: object) => {
    const stats = original.statSync(path, { ...options, bigint: true, throwIfNoEntry: false });
    if (!stats || !path.endsWith('.db')) return stats;
    const file = `${stats.ino} ${stats.birthtimeNs}`;
    if (!files.includes(file)) files.push(file);
    const index = files.indexOf(file);
    return Object.assign(stats, { ino: BigInt(index % INODES), birthtimeNs: BigInt(index) });
  };
  return { ...original, statSync: statSync as typeof original.statSync };
});

test('files that replace each other many times in a row are all opened', async () => {
  const folder = tempFolder();
  const [file, backup, next] = [join(folder, 'leadtap.db'), join(folder, 'backup'), join(folder, 'next')];
  const log = { warn: vi.fn(), error: vi.fn() };
  const store = await openSqliteStore({ file, log });
  onTestFinished(() => store.close());
  const connection = new Connection(file);
  connection.exec(`VACUUM INTO '${backup}'`);
  connection.close();

  const organisation = { companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] };
  for (let replaced = 1; replaced <= 6; replaced += 1) {
    copyFileSync(backup, next);
    renameSync(next, file);
    await store.ping();
    expect(log.warn).toHaveBeenCalledTimes(replaced);
    expect(await store.countAccounts?.()).toMatchObject({ companies: 0 });
    // Only in this file.
    expect(await store.applyOrganisation(organisation)).toMatchObject({ kind: 'applied' });
  }
  expect(log.error).not.toHaveBeenCalled();
});
