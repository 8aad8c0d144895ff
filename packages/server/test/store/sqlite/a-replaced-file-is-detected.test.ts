import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSqliteStore, StoreUnavailableError } from 'leadtap';
import { expect, onTestFinished, test, vi } from 'vitest';
import { spawnLeadtap } from '../../../../testing/harness/leadtap-process.ts';
import { keyFileOf, startService, type TestService } from '../../../../testing/harness/service.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { inspectSqlite } from '../../../src/store/sqlite/store.ts';

const lead = (id: string) => ({ companyId: 'acme', id, fields: {} });

interface LogLine {
  readonly level: string;
  readonly msg: string;
}

function copyDatabase(from: string, to: string): void {
  const connection = new Connection(from);
  connection.exec(`VACUUM INTO '${to}'`);
  connection.close();
}

/** A service with one lead, and a backup of it with another lead. */
async function startWithBackup() {
  const lines: LogLine[] = [];
  const service = await startService({ logTo: { write: (line) => lines.push(JSON.parse(line)) } });
  const file = join(service.folder, 'leadtap.db');
  await service.add({ id: 'first' });
  const folder = tempFolder();
  const [changed, backup] = [join(folder, 'changed.db'), join(folder, 'backup.db')];
  copyDatabase(file, changed);
  const store = await openSqliteStore({ file: changed });
  await store.writeLeads([lead('in-the-backup')]);
  await store.close();
  // A file that this process has never opened: the driver may keep closed files open.
  copyDatabase(changed, backup);
  expect(await readyStatus(service)).toBe(200);
  const errors = () =>
    lines.filter(({ level, msg }) => level === 'error' && msg.includes(`the database file ${file}`));
  return { service, file, backup, errors };
}

const readyStatus = async ({ url }: TestService) => (await fetch(`${url}/readyz`)).status;
/** As a process that starts now reads them. */
async function idsIn(file: string): Promise<string[]> {
  const store = await openSqliteStore({ file });
  onTestFinished(() => store.close());
  const { leads } = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 10 });
  return leads.map(({ id }) => id).sort();
}

async function expectUnavailable({ service, errors }: Awaited<ReturnType<typeof startWithBackup>>) {
  for (let n = 0; n < 2; n += 1) {
    expect(await readyStatus(service)).toBe(503);
    const refused = await service.poll('boss');
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'unavailable' }]);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  expect(errors()).toHaveLength(1);
}

test('serve stops with exit code 75 when a backup replaces its file, and serves the backup after a restart', async () => {
  const { service, file: original, backup } = await startWithBackup();
  const token = await service.token('boss');
  const folder = tempFolder();
  const file = join(folder, 'leadtap.db');
  copyDatabase(original, file);
  const env = {
    LEADTAP_DATABASE_URL: `sqlite:${file}`,
    LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
    LEADTAP_PORT: '0',
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
  };
  const serve = async () => {
    const { lines, ended } = spawnLeadtap(['serve'], env, folder);
    for (;;) {
      const { value = '' } = await lines.next();
      const url = /"url":"([^"]+)".*serving new leads/.exec(value)?.[1];
      if (url !== undefined) return { url, ended };
    }
  };
  const first = await serve();
  renameSync(backup, file);
  const { code, stdout, stderr } = await first.ended;
  expect(code).toBe(75);
  expect(stderr).toContain('the database file was replaced');
  expect(stderr).toContain('Start Leadtap again');
  expect(stdout).toMatch(/"level":"error"[^\n]*was replaced: Leadtap must start again/);

  const second = await serve();
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${second.url}/automation/new-leads`, { headers });
  expect(await response.json()).toMatchObject([{ id: 'in-the-backup' }, { id: 'first' }]);
});

test('a service that the process keeps running answers 503 after its file is replaced', async () => {
  const started = await startWithBackup();
  const { service, file, backup } = started;
  // This lead is only in the log of the old file, which must not be applied to the new one.
  await service.add({ id: 'only-in-the-old-file' });
  renameSync(backup, file);
  await expectUnavailable(started);
  expect(await idsIn(file)).toEqual(['first', 'in-the-backup']);
  expect((await inspectSqlite(file)).faults).toEqual([]);
});

test('the owner of a store is called once when the file is replaced', async () => {
  const { backup } = await startWithBackup();
  const file = join(tempFolder(), 'leadtap.db');
  copyFileSync(backup, file);
  const onReplaced = vi.fn();
  const store = await openSqliteStore({ file, onReplaced });
  onTestFinished(() => store.close());
  renameSync(backup, file);
  for (let n = 0; n < 2; n += 1) await expect(store.ping()).rejects.toThrow(StoreUnavailableError);
  expect(onReplaced).toHaveBeenCalledTimes(1);
});

test('a file that is kept under another name has all of its leads', async () => {
  const { service, file, backup } = await startWithBackup();
  await service.add({ id: 'last' });
  const kept = join(dirname(backup), 'kept.db');
  renameSync(file, kept);
  renameSync(backup, file);
  expect(await readyStatus(service)).toBe(503);
  const copy = join(dirname(backup), 'copy.db');
  copyFileSync(kept, copy);
  expect(await idsIn(copy)).toEqual(['first', 'last']);
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
  await expect(store.writeLeads([lead('after-the-replacement')])).rejects.toThrow(StoreUnavailableError);
  const count = (path: string) => {
    const connection = new Connection(path);
    onTestFinished(() => connection.close());
    return connection.prepare(`SELECT count(*) AS n FROM leads WHERE id = 'after-the-replacement'`).get();
  };
  expect([count(file), count(kept)]).toEqual([{ n: 0 }, { n: 0 }]);
});

test('a write that waits for the lock while the file is replaced fails', async () => {
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
  expect(await readyStatus(service)).toBe(503);
  expect(await idsIn(file)).toEqual(['first', 'in-the-backup', 'in-the-log']);
});

test('a file that is moved away makes the service unavailable until it is back', async () => {
  const started = await startWithBackup();
  const { service, file } = started;
  renameSync(file, `${file}.elsewhere`);
  await expectUnavailable(started);
  expect(existsSync(file)).toBe(false);
  renameSync(`${file}.elsewhere`, file);
  expect(await readyStatus(service)).toBe(200);
  expect((await service.leads('boss')).map(({ id }) => id)).toEqual(['first']);
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
  await expect(store.ping()).rejects.toThrow(/was replaced/);
});

test('a folder that is moved away makes the service unavailable until it is back', async () => {
  const started = await startWithBackup();
  const { service } = started;
  renameSync(service.folder, `${service.folder}-elsewhere`);
  await expectUnavailable(started);
  renameSync(`${service.folder}-elsewhere`, service.folder);
  expect(await readyStatus(service)).toBe(200);
  expect((await service.leads('boss')).map(({ id }) => id)).toEqual(['first']);
});
