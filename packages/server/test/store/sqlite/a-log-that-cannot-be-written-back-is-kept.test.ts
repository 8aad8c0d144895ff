import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { spawnLeadtap } from '../../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { StoreProcess } from '../../transfer/store-process.ts';

const LIMIT_BYTES = 512 * 1024;
/** The unit of `ulimit -f`. */
const BLOCK_BYTES = 512;

const lead = (id: string) => ({ companyId: 'acme', id, fields: { addressNotes: 'x'.repeat(1000) } });

/** A database that is larger than the limit, and a backup of it. */
async function makeDatabase() {
  const folder = tempFolder();
  const [file, backup] = [join(folder, 'leadtap.db'), join(folder, 'backup.db')];
  const store = new StoreProcess(`sqlite:${file}`);
  await store.call('applyOrganisation', ORGANISATION);
  await store.add(Array.from({ length: 1000 }, (_, n) => lead(`lead-${n}`)));
  await store.close();
  const connection = new Connection(file);
  connection.exec(`PRAGMA wal_checkpoint(TRUNCATE); VACUUM INTO '${backup}'`);
  connection.close();
  expect(statSync(file).size).toBeGreaterThan(LIMIT_BYTES * 2);
  return { folder, file, backup };
}

/** A service whose writes to the end of the database file fail, as on a full disk. */
async function serveWithLimit(folder: string, file: string) {
  const env = {
    LEADTAP_DATABASE_URL: `sqlite:${file}`,
    LEADTAP_PORT: '0',
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
  };
  const { child, lines, ended } = spawnLeadtap(['serve'], env, folder, `-f ${LIMIT_BYTES / BLOCK_BYTES}`);
  const logged: string[] = [];
  const nextLine = async (pattern: RegExp) => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      logged.push(line.value);
      const [, found] = pattern.exec(line.value) ?? [];
      if (found !== undefined) return found;
    }
    throw new Error(`the service ended without ${pattern}: ${logged.join('\n')}`);
  };
  const url = await nextLine(/(http:\/\/127\.0\.0\.1:\d+)/);
  const kill = () => {
    child.kill('SIGKILL');
    return ended;
  };
  return { ready: async () => (await fetch(`${url}/readyz`)).status, nextLine, kill };
}

test('acknowledged leads of a replaced file stay in its log while they cannot be written to the file', async () => {
  const { folder, file, backup } = await makeDatabase();
  const service = await serveWithLimit(folder, file);
  expect(await service.ready()).toBe(200);
  const writer = new StoreProcess(`sqlite:${file}`);
  await writer.add([lead('acknowledged')]);

  const kept = join(folder, 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  await writer.close();
  for (let n = 0; n < 2; n += 1) expect(await service.ready()).toBe(503);
  expect(await service.nextLine(/(leadtap\.db-wal has leads of the old file[^"]*)/)).toMatch(
    /cannot be written to it \(.*\): .*stop Leadtap and move .*leadtap\.db-wal away/,
  );
  await service.kill();

  expect(existsSync(`${file}-wal`)).toBe(true);
  renameSync(`${file}-wal`, `${kept}-wal`);
  const store = await openSqliteStore({ file: kept });
  onTestFinished(() => store.close());
  const { leads } = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 1 });
  expect(leads.map(({ id }) => id)).toEqual(['acknowledged']);
});
