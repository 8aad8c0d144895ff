import { closeSync, copyFileSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { expectProblem } from '../../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

const LEADS = 5000;

/** A database with leads whose file is overwritten in the middle, and a function that restores a backup. */
async function makeDamaged() {
  const folder = tempFolder();
  const database = await makeTestDatabase(onTestFinished, { folder });
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.writeLeads(
    Array.from({ length: LEADS }, (_, n) => ({ companyId: 'acme', id: `lead-${n}`, fields: {} })),
  );
  await store.close();
  const file = join(folder, 'leadtap.db');
  const connection = new Connection(file);
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
  const backup = join(folder, 'backup.db');
  copyFileSync(file, backup);
  const { size } = statSync(file);
  const descriptor = openSync(file, 'r+');
  const bytes = Buffer.alloc(Math.floor(size * 0.2), 0xff);
  writeSync(descriptor, bytes, 0, bytes.length, Math.floor(size * 0.6));
  closeSync(descriptor);
  return { folder, database, restore: () => replaceFile(backup, file) };
}

/** As an operator does who restores a backup: without the write-ahead log of the damaged file. */
function replaceFile(backup: string, file: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  renameSync(backup, file);
}

test('a poll of damaged pages fails with 503, and the service is not ready; the next one serves a restored backup', async () => {
  const { restore, ...beside } = await makeDamaged();
  const lines: { level: string; msg: string }[] = [];
  const damaged = await startService({
    beside,
    logTo: { write: (line) => lines.push(JSON.parse(line)) },
  });
  const { url, poll } = damaged;
  const ready = async (of = url) => (await fetch(`${of}/readyz`)).status;
  const follow = async (poll: TestService['poll']) => {
    let answer = await poll('boss', 'since=1970-01-01');
    for (let page = 0; page < LEADS / 100 && answer.status === 200; page += 1) {
      const [, query = ''] = /\?([^>]+)>/.exec(answer.headers.get('link') ?? '') ?? [];
      answer = await poll('boss', query);
    }
    return answer;
  };
  expect(await ready()).toBe(200);
  for (let n = 0; n < 2; n += 1) {
    const refused = await follow(poll);
    await expectProblem(refused, 'unavailable');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    // Also after polls that do not need the damaged pages.
    expect((await poll('rival')).status).toBe(200);
    expect(await ready()).toBe(503);
  }
  expect(lines.filter(({ level, msg }) => level === 'error' && msg.includes('damaged'))).toHaveLength(1);
  await damaged.stop();
  restore();
  const next = await startService({ beside });
  expect(await ready(next.url)).toBe(200);
  expect((await follow(next.poll)).status).toBe(200);
});

test('a poll of a lead whose JSON is damaged fails with 503, and the service is not ready', async () => {
  const folder = tempFolder();
  const database = await makeTestDatabase(onTestFinished, { folder });
  const { url, poll, add } = await startService({ beside: { folder, database } });
  await add({ id: 'damaged' });
  const connection = new Connection(join(folder, 'leadtap.db'));
  connection.exec(`UPDATE leads SET custom_fields = '{"a":'`);
  connection.close();
  await expectProblem(await poll('boss'), 'unavailable');
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
});
