import { mkdirSync, readdirSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { startService } from '../../../../testing/harness/service.ts';
import { ExitCode } from '../../../src/cli/exit.ts';
import { inspectSqlite, openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { terminal, terminalWithUsers } from '../../cli/terminal.ts';
import { readStatus } from '../../status/support/status.ts';

/** At 09:30 of a day in March. */
const on = (day: number) => ({ parts: { clock: () => Date.UTC(2026, 2, day, 9, 30, 0, 250) } });
const nameOf = (day: number) => `leadtap-2026-03-${String(day).padStart(2, '0')}T09-30-00Z.db`;

test('--keep writes a file with its time into a new folder, and deletes its oldest ones', async () => {
  const { run, path } = await terminalWithUsers();
  const first = await run('backup --keep 2 safe/backups', on(1));
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/\/safe\/backups\/leadtap-2026-03-01T09-30-00Z\.db has \d+\.\d MiB\n$/);
  expect(statSync(path('safe/backups')).mode & 0o777).toBe(0o700);
  await run('backup --keep 2 safe/backups', on(2));
  const third = await run('backup --keep 2 safe/backups', on(3));
  expect(third.stdout).toMatch(/\nDeleted \S+\/safe\/backups\/leadtap-2026-03-01T09-30-00Z\.db\n$/);
  expect(readdirSync(path('safe/backups'))).toEqual([nameOf(2), nameOf(3)]);
  const fourth = await run('backup --keep 1 safe/backups --json', on(4));
  expect(JSON.parse(fourth.stdout)).toEqual({
    file: path(`safe/backups/${nameOf(4)}`),
    bytes: expect.any(Number),
    deleted: [path(`safe/backups/${nameOf(3)}`), path(`safe/backups/${nameOf(2)}`)],
  });
  expect(await inspectSqlite(path(`safe/backups/${nameOf(4)}`))).toMatchObject({ exists: true, faults: [] });
});

test('every other file stays, also with a name that is almost the same, or of a later time', async () => {
  const { run, save, path } = await terminalWithUsers();
  const others = [
    'leadtap-2026-02-01.db',
    `${nameOf(1)}.gz`,
    `${nameOf(1)}.0a1b2c3d.partial`,
    `old-${nameOf(1)}`,
    'leadtap-2026-03-01T09-30-00.123Z.db',
    // Of a clock that was ahead.
    nameOf(20),
  ];
  for (const name of others) save(`backups/${name}`, 'mine');
  mkdirSync(path(`backups/${nameOf(1)}`));
  save(`backups/${nameOf(2)}`, 'old');
  expect((await run('backup --keep 1 backups', on(3))).code).toBe(0);
  expect(readdirSync(path('backups'))).toEqual([...others, nameOf(1), nameOf(3)].sort());
});

test('a backup that fails deletes nothing', async () => {
  const { run, save, path } = await terminalWithUsers();
  for (const day of [1, 2, 3]) save(`backups/${nameOf(day)}`, 'old');
  const again = await run('backup --keep 1 backups', on(3));
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(`${nameOf(3)} exists already\n`) });
  const signal = AbortSignal.abort(new ExitCode(130));
  const interrupted = await run('backup --keep 1 backups', { parts: { ...on(4).parts, signal } });
  expect(interrupted.code).toBe(130);
  expect(readdirSync(path('backups'))).toEqual([1, 2, 3].map(nameOf));
});

test.each([
  ['--keep 0 backups', 2, '--keep <number>', 'Give a whole number from 1 to 999999.'],
  ['--keep -1 backups', 2, '--keep <number>', 'Give a whole number from 1 to 999999.'],
  ['--keep 1.5 backups', 2, '--keep <number>', 'Give a whole number from 1 to 999999.'],
  ['--keep backups', 2, '--keep <number>', 'Give a whole number from 1 to 999999.'],
  ['--keep 3', 2, "missing required argument 'file'", '--help'],
  ['--keep 3 organisation.json', 1, 'organisation.json is a file, not a folder', 'Give another folder'],
  [
    '--keep 3 organisation.json/x',
    1,
    'organisation.json/x cannot be created (ENOTDIR)',
    'Give another folder',
  ],
  ['--keep 3 data', 1, 'data is the folder of the database', 'Give another folder'],
])('backup %s is refused', async (args, code, message, fix) => {
  const { run, cwd } = await terminalWithUsers();
  const before = readdirSync(cwd);
  const ran = await run(`backup ${args}`);
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(fix);
  expect(readdirSync(cwd)).toEqual(before);
});

test('a backup that is in service through a link is not deleted', async () => {
  const { run, path } = await terminalWithUsers();
  await run('backup --keep 1 backups', on(1));
  renameSync(path('data/leadtap.db'), path('data/old.db'));
  symlinkSync(`../backups/${nameOf(1)}`, path('data/leadtap.db'));
  const { code, stderr } = await run('backup --keep 1 backups', on(2));
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('backups is the folder of the database'),
  });
  expect(readdirSync(path('backups'))).toContain(nameOf(1));
  expect((await run('backup --keep 1 data', on(2))).stderr).toContain('data is the folder of the database');
});

test('a backup that another service has open is not deleted', async () => {
  const { run, path } = await terminalWithUsers();
  await run('backup --keep 1 backups', on(1));
  const other = await openSqliteStore({ file: path(`backups/${nameOf(1)}`), clock: () => Date.now() });
  expect((await run('backup --keep 1 backups', on(2))).code).toBe(0);
  expect(readdirSync(path('backups'))).toContain(nameOf(1));
  await other.close();
});

test('without a database no folder is created', async () => {
  const { run, cwd } = terminal({ empty: true });
  expect((await run('backup --keep 3 backups')).code).toBe(1);
  expect(readdirSync(cwd)).toEqual([]);
});

test('the status page knows it as any other backup', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { run } = terminal();
  const options = { env: service.database.env, parts: { clock, cwd: service.folder } };
  expect((await run('backup --keep 3 backups', options)).code).toBe(0);
  expect((await readStatus(service)).backup).toEqual({ lastAt: '2026-03-02T09:30:00.000Z' });
  clock.advance(8 * 86_400_000);
  const { problems } = await readStatus(service);
  expect(problems).toContainEqual(expect.objectContaining({ kind: 'backup-old' }));
  expect((await run('backup --keep 3 backups', options)).code).toBe(0);
  expect((await readStatus(service)).problems).toEqual([]);
});
