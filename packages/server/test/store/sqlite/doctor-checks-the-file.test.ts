import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { checkDataFolder } from '../../../src/cli/doctor/database.ts';
import { NOW, terminal, terminalWithUsers } from '../../cli/terminal.ts';

const FREE_PORT = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };

test('a healthy installation passes all checks', async () => {
  const { run } = await terminalWithUsers();
  await run('token issue --user boss');
  const { code, stdout, stderr } = await run('doctor', { env: FREE_PORT, parts: { clock: Date.now } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const checks = [
    'Node.js',
    'configuration',
    'data folder',
    'database',
    'schema',
    'signing key',
    'clock',
    'port',
    'metrics port',
  ];
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0]),
  ).toEqual([
    ...checks.map((check) => `✓ ${check}`),
    '? connections',
    '    `leadtap connections` lists all of them.',
  ]);
});

test('an empty folder stays empty', async () => {
  const { run, cwd } = terminal();
  const { code, stdout } = await run('doctor', { env: FREE_PORT });
  expect(code).toBe(0);
  expect(stdout.match(/^! .+$/gm)?.map((line) => line.split(':')[0])).toEqual([
    '! data folder',
    '! database',
    '! signing key',
  ]);
  expect(readdirSync(cwd)).toEqual([]);
});

test('a data folder that is a file', async () => {
  const { run, save, path } = terminal();
  save('data', 'x');
  const { code, stdout } = await run('doctor', { env: FREE_PORT });
  expect(code).toBe(1);
  expect(stdout).toContain(`✗ data folder: ${path('data')} is not a folder`);
});

const MEBIBYTE = 1024 * 1024;

test.each([
  [0, 'failed', 'it is full'],
  [15 * MEBIBYTE, 'failed', '15 MiB are free'],
  [20 * MEBIBYTE, 'ok', 'is writable'],
])('a disk with %i free bytes: %s', async (free, state, detail) => {
  const file = join(tempFolder(), 'leadtap.db');
  const finding = await checkDataFolder(file, async () => ({
    bavail: free / 4096,
    bsize: 4096,
  }));
  expect(finding).toMatchObject({ state, detail: expect.stringContaining(detail) });
  expect(finding.fix.join()).toContain(state === 'ok' ? '' : 'Free some space');
});

test('a database that cannot be opened is reported with what to do, and not with "run leadtap doctor"', async () => {
  const { run, save, path } = terminal();
  save('data/leadtap.db/inside', 'x');
  const { code, stdout } = await run('doctor', { env: FREE_PORT });
  expect(code).toBe(1);
  expect(stdout).toContain(
    `✗ database: the database file cannot be opened (${path('data/leadtap.db')}, EISDIR)`,
  );
  expect(stdout).toContain('Correct the path in LEADTAP_DATABASE_URL.');
  expect(stdout).not.toContain('leadtap doctor');
});

test('a missing database that may not be created is reported', async () => {
  const env = { ...FREE_PORT, LEADTAP_AUTO_MIGRATE: 'false' };
  const { code, stdout } = await terminal().run('doctor', { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ database: there is no Leadtap database at .*\n {4}Run `leadtap migrate`\.$/m);
});

test.each([
  [30_000, []],
  [600_000, ['! stamps-ahead: The newest lead is dated 10 min ahead of the clock.']],
])('a clock %i ms behind the latest lead: %j', async (behindMs, lines) => {
  const { run } = await terminalWithUsers();
  await run('leads import - --format ndjson', { stdin: '{"companyId":"acme","phone1":"1"}\n' });
  const clock = () => NOW - behindMs;
  const { stdout } = await run('doctor', { env: FREE_PORT, parts: { clock } });
  expect(stdout.split('\n').filter((line) => line.includes('stamps-ahead:'))).toEqual(lines);
});

test('rate limits are reported only if Redis is configured', async () => {
  const { run } = terminal();
  expect((await run('doctor', { env: FREE_PORT })).stdout).not.toContain('rate limits');
  const env = { ...FREE_PORT, LEADTAP_REDIS_URL: 'redis://127.0.0.1:1' };
  expect((await run('doctor', { env })).stdout).toContain('! rate limits: ');
});
