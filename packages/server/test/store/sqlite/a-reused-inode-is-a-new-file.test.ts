import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

const INODES = 2;

/** A file system with two inodes for databases: ext4 may give the inode of a deleted file to the next one. */
vi.mock(import('../../../src/store/sqlite/file-identity.ts'), async (importOriginal) => {
  const original = await importOriginal();
  const files: string[] = [];
  const indexOf = (file: string): number => {
    if (!files.includes(file)) files.push(file);
    return files.indexOf(file);
  };
  return {
    ...original,
    identifyFile: (path) => {
      const found = original.identifyFile(path);
      if (!found || !path.endsWith('.db')) return found;
      const index = indexOf(`${found.inode} ${found.birthtimeNs}`);
      return { inode: `inode ${index % INODES}`, birthtimeNs: BigInt(index) };
    },
  };
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
