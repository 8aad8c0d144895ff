import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSqliteStore, StoreUnavailableError } from 'leadtap';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { inspectSqlite } from '../../../src/store/sqlite/store.ts';

const TOKEN = 'to-be-revoked';
const lead = (id: string) => ({ companyId: 'acme', id, fields: {} });

interface LogLine {
  readonly level: number;
  readonly msg: string;
}
const [WARN, ERROR] = [40, 50];

function copyDatabase(from: string, to: string): void {
  const connection = new Connection(from);
  connection.exec(`VACUUM INTO '${to}'`);
  connection.close();
}

/** A service with one lead, and a backup of it that differs: a token is revoked, and there is another lead. */
async function startWithBackup() {
  const lines: LogLine[] = [];
  const service = await startService({ logTo: { write: (line) => lines.push(JSON.parse(line)) } });
  const file = join(service.folder, 'leadtap.db');
  await service.add({ id: 'first' });
  const folder = tempFolder();
  const [changed, backup] = [join(folder, 'changed.db'), join(folder, 'backup.db')];
  copyDatabase(file, changed);
  const store = await openSqliteStore({ file: changed });
  await store.revokeToken(TOKEN);
  await store.writeLeads([lead('in-the-backup')]);
  await store.close();
  // A file that this process has never opened: the driver may keep closed files open.
  copyDatabase(changed, backup);
  const authorization = `Bearer ${await service.token('boss', { tokenId: TOKEN })}`;
  const pollWithToken = () => service.poll('boss', '', { headers: { authorization } });
  expect((await pollWithToken()).status).toBe(200);
  const ofFile = (level: number) =>
    lines.filter((line) => line.level === level && line.msg.includes(`the database file ${file}`));
  return { service, file, backup, pollWithToken, ofFile };
}

const readyStatus = async ({ url }: TestService) => (await fetch(`${url}/readyz`)).status;
const idsSeenBy = async (service: TestService) => (await service.leads('boss')).map(({ id }) => id).sort();

test('a backup that replaces the file of a running service is opened', async () => {
  const { service, file, backup, pollWithToken, ofFile } = await startWithBackup();
  // This lead is only in the log of the old file, which must not be applied to the new one.
  await service.add({ id: 'only-in-the-old-file' });
  renameSync(backup, file);
  expect(await readyStatus(service)).toBe(200);
  const refused = await pollWithToken();
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'token-revoked' }]);
  expect(await idsSeenBy(service)).toEqual(['first', 'in-the-backup']);
  expect(ofFile(WARN)).toHaveLength(1);

  const writer = await openSqliteStore({ file });
  await writer.writeLeads([lead('written-later')]);
  await writer.close();
  expect(await idsSeenBy(service)).toEqual(['first', 'in-the-backup', 'written-later']);
  await service.stop();
  expect((await inspectSqlite(file)).faults).toEqual([]);
});

test('a running service detects it without a request', async () => {
  const { file, backup, pollWithToken } = await startWithBackup();
  renameSync(backup, file);
  await vi.waitFor(async () => expect((await pollWithToken()).status).toBe(401), { timeout: 30_000 });
});

test('a file that is kept under another name has all of its leads', async () => {
  const { service, file, backup } = await startWithBackup();
  await service.add({ id: 'last' });
  const kept = join(dirname(backup), 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  expect(await readyStatus(service)).toBe(200);
  const copy = join(dirname(backup), 'copy.db');
  copyFileSync(kept, copy);
  const store = await openSqliteStore({ file: copy });
  onTestFinished(() => store.close());
  const { leads } = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 10 });
  expect(leads.map(({ id }) => id)).toEqual(['last', 'first']);
});

test('leads are never written to a file that was replaced', async () => {
  const { backup } = await startWithBackup();
  const file = join(tempFolder(), 'leadtap.db');
  copyFileSync(backup, file);
  const store = await openSqliteStore({ file });
  onTestFinished(() => store.close());
  const kept = join(dirname(file), 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  await store.writeLeads([lead('after-the-replacement')]);
  const count = (path: string) => {
    const connection = new Connection(path);
    onTestFinished(() => connection.close());
    return connection.prepare(`SELECT count(*) AS n FROM leads WHERE id = 'after-the-replacement'`).get();
  };
  expect([count(file), count(kept)]).toEqual([{ n: 1 }, { n: 0 }]);
});

test('a write that waits for the lock while the file is replaced fails, and the next one succeeds', async () => {
  const { backup } = await startWithBackup();
  const file = join(tempFolder(), 'leadtap.db');
  copyFileSync(backup, file);
  const store = await openSqliteStore({ file, writeLockWaitMs: 60_000 });
  onTestFinished(() => store.close());
  const other = new Connection(file);
  other.exec('BEGIN IMMEDIATE');
  const writing = store.writeLeads([lead('waiting')]);
  // Its first attempt to get the lock is in this turn of the event loop.
  await new Promise(setImmediate);
  const kept = join(dirname(file), 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  other.exec('ROLLBACK');
  await expect(writing).rejects.toThrow(StoreUnavailableError);
  other.close();
  expect(await store.writeLeads([lead('next')])).toMatchObject({ results: [{ kind: 'added' }] });
});

test('a database that comes with its own log keeps what is in that log', async () => {
  const { service, file, backup } = await startWithBackup();
  const store = await openSqliteStore({ file: backup });
  onTestFinished(() => store.close());
  await store.writeLeads([lead('in-the-log')]);
  const copy = join(dirname(backup), 'copy.db');
  copyFileSync(`${backup}-wal`, `${copy}-wal`);
  copyFileSync(backup, copy);
  renameSync(`${copy}-wal`, `${file}-wal`);
  renameSync(copy, file);
  expect(await readyStatus(service)).toBe(200);
  expect(await idsSeenBy(service)).toEqual(['first', 'in-the-backup', 'in-the-log']);
});

async function expectUnavailable({
  service,
  pollWithToken,
  ofFile,
}: Awaited<ReturnType<typeof startWithBackup>>) {
  for (let n = 0; n < 2; n += 1) {
    expect(await readyStatus(service)).toBe(503);
    const refused = await pollWithToken();
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'unavailable' }]);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  expect(ofFile(ERROR)).toHaveLength(1);
}

test('a file that is deleted makes the service unavailable until one is there again', async () => {
  const started = await startWithBackup();
  const { service, file, backup } = started;
  rmSync(file);
  await expectUnavailable(started);
  expect(existsSync(file)).toBe(false);
  renameSync(backup, file);
  expect(await readyStatus(service)).toBe(200);
  expect(await idsSeenBy(service)).toEqual(['first', 'in-the-backup']);
});

test.each([
  ['a file that is not a database', 'this is not a database'],
  ['an empty file', ''],
])(
  'a file that is replaced by %s makes the service unavailable until it is replaced again',
  async (_, text) => {
    const started = await startWithBackup();
    const { service, file, backup } = started;
    const other = join(dirname(backup), 'other');
    writeFileSync(other, text.repeat(1000));
    renameSync(other, file);
    await expectUnavailable(started);
    renameSync(backup, file);
    expect(await readyStatus(service)).toBe(200);
    expect(await idsSeenBy(service)).toEqual(['first', 'in-the-backup']);
  },
);

test('the old file put back needs a restart', async () => {
  const { service, file, backup, ofFile } = await startWithBackup();
  const kept = join(dirname(backup), 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  expect(await readyStatus(service)).toBe(200);
  renameSync(kept, file);
  expect(await readyStatus(service)).toBe(503);
  expect(ofFile(ERROR)).toMatchObject([{ msg: expect.stringContaining('restart Leadtap') }]);
});

test('a file that is replaced while a store waits to open it is detected', async () => {
  const { backup } = await startWithBackup();
  const file = join(tempFolder(), 'leadtap.db');
  const other = new Connection(file);
  other.useWriteAheadLog();
  other.exec('BEGIN IMMEDIATE');
  const opening = openSqliteStore({ file });
  renameSync(backup, file);
  other.exec('ROLLBACK');
  other.close();
  const store = await opening;
  onTestFinished(() => store.close());
  await store.ping();
  const { leads } = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 10 });
  expect(leads.map(({ id }) => id)).toEqual(['in-the-backup', 'first']);
});

test('a folder that is moved away makes the service unavailable until it is back', async () => {
  const started = await startWithBackup();
  const { service } = started;
  renameSync(service.folder, `${service.folder}-elsewhere`);
  await expectUnavailable(started);
  renameSync(`${service.folder}-elsewhere`, service.folder);
  expect(await readyStatus(service)).toBe(200);
  expect(await idsSeenBy(service)).toEqual(['first']);
});
