import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { openSqliteStore } from 'leadtap';
import { expect, test } from 'vitest';
import { ExitCode } from '../../../src/cli/exit.ts';
import { loadDriver } from '../../../src/store/sqlite/connection.ts';
import { inspectSqlite } from '../../../src/store/sqlite/store.ts';
import { terminal, terminalWithUsers } from '../../cli/terminal.ts';

const SCOPE = { level: 'COMPANY', companyId: 'acme' } as const;

async function idsIn(file: string): Promise<string[]> {
  const store = await openSqliteStore({ file, migrate: false });
  const { leads } = await store.readPage({ scope: SCOPE, since: 0, limit: 1_000_000 });
  await store.close();
  return leads.map(({ id }) => id);
}

const lead = (index: number) => ({
  companyId: 'acme',
  id: `lead-${index}`,
  fields: { address: 'x'.repeat(500) },
});

test('a backup during writes has every lead that was acknowledged before, and no half batch', async () => {
  const { run, path, database } = await terminalWithUsers();
  const writer = await (await database()).openStore();
  await writer.writeLeads(Array.from({ length: 2000 }, (_, index) => lead(index)));
  let isDone = false;
  let written = 2000;
  const writing = (async () => {
    for (; !isDone; written += 10) {
      await writer.writeLeads(Array.from({ length: 10 }, (_, index) => lead(written + index)));
      // A write without a wait for the lock never returns to the event loop.
      await setImmediate();
    }
  })();
  const backup = await run('backup copy.db').finally(() => {
    isDone = true;
  });
  await writing;
  await writer.close();
  expect(backup).toMatchObject({ code: 0, stdout: expect.stringMatching(/copy\.db has \d+\.\d MiB\n$/) });
  expect(backup.stderr).toContain(
    `Copy the signing key as well, to another place: ${path('data/signing.key')}`,
  );
  expect(statSync(path('copy.db')).mode & 0o777).toBe(0o600);
  expect(await inspectSqlite(path('copy.db'))).toMatchObject({ exists: true, faults: [] });

  const ids = await idsIn(path('copy.db'));
  expect(ids.length).toBeGreaterThanOrEqual(2000);
  expect((ids.length - 2000) % 10).toBe(0);
  expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => `lead-${index}`));
});

test('stamps continue after the last one in a backup that is put in place', async () => {
  const { run, path, database } = await terminalWithUsers();
  const source = await (await database()).openStore();
  const before = await source.writeLeads([lead(1)]);
  await source.close();
  await run('backup copy.db');
  const copy = await openSqliteStore({ file: path('copy.db'), clock: () => 0 });
  const after = await copy.writeLeads([lead(2)]);
  await copy.close();
  const [first] = before.results;
  expect(after.results).toMatchObject([
    { createdAt: first && 'createdAt' in first ? first.createdAt + 1 : undefined },
  ]);
});

test('--json prints the file and its size', async () => {
  const { run, path } = await terminalWithUsers();
  const { stdout } = await run('backup copy.db --json');
  expect(JSON.parse(stdout)).toEqual({ file: path('copy.db'), bytes: statSync(path('copy.db')).size });
});

test('an existing file is not replaced', async () => {
  const { run, save, path, cwd } = await terminalWithUsers();
  save('copy.db', 'mine');
  const { code, stderr } = await run('backup copy.db');
  expect(code).toBe(1);
  expect(stderr).toContain(`leadtap: ${path('copy.db')} exists already\n`);
  expect(statSync(path('copy.db')).size).toBe(4);
  expect(readdirSync(cwd).filter((name) => name.includes('partial'))).toEqual([]);
});

test('a folder that does not exist, or cannot be written, is 1 and leaves nothing', async () => {
  const { run, path } = await terminalWithUsers();
  const missing = await run('backup nowhere/copy.db');
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('nowhere/copy.db cannot be written (ENOENT)');
  if (process.getuid?.() === 0) return;
  mkdirSync(path('locked'));
  chmodSync(path('locked'), 0o500);
  expect((await run('backup locked/copy.db')).stderr).toContain('cannot be written (EACCES)');
});

test('without a database it fails and creates nothing', async () => {
  const { run, cwd } = terminal({ empty: true });
  const { code, stderr } = await run('backup copy.db');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^leadtap: there is no Leadtap database at /);
  expect(readdirSync(cwd)).toEqual([]);
});

test('a damaged database is not copied, and no file is left', async () => {
  const { run, path, cwd } = await terminalWithUsers();
  const bytes = Buffer.alloc(statSync(path('data/leadtap.db')).size, 7);
  for (const suffix of ['-wal', '-shm'])
    if (existsSync(path(`data/leadtap.db${suffix}`))) writeFileSync(path(`data/leadtap.db${suffix}`), '');
  writeFileSync(path('data/leadtap.db'), bytes);
  expect((await run('backup copy.db')).code).toBe(1);
  expect(readdirSync(cwd)).not.toContain('copy.db');
});

test('a copy that fails its check is not kept, although it could be written', async () => {
  const { run, path, cwd } = await terminalWithUsers();
  const { DatabaseSync } = loadDriver();
  const source = new DatabaseSync(path('data/leadtap.db'));
  // VACUUM copies rows without their constraints, as SQLite finds them in a damaged page.
  source.exec("PRAGMA ignore_check_constraints = ON; UPDATE companies SET name = '' WHERE id = 'acme'");
  source.close();
  const { code, stderr } = await run('backup copy.db');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('the copy is damaged: CHECK constraint failed in companies'),
  });
  expect(readdirSync(cwd).filter((name) => name.startsWith('copy'))).toEqual([]);
});

test('an interrupted backup leaves no file', async () => {
  const { run, cwd } = await terminalWithUsers();
  const signal = AbortSignal.abort(new ExitCode(130));
  expect(await run('backup copy.db', { parts: { signal } })).toEqual({ code: 130, stdout: '', stderr: '' });
  expect(readdirSync(join(cwd)).filter((name) => name.startsWith('copy'))).toEqual([]);
});
