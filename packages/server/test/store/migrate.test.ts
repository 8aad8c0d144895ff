import { expect, test } from 'vitest';
import { describeDatabase, parseConfig } from '../../src/config.ts';
import { terminal } from '../cli/terminal.ts';

const NO_AUTO_MIGRATE = { LEADTAP_AUTO_MIGRATE: 'false' };

test('the first run lists the migrations, the second has nothing to do', async () => {
  const { run } = terminal({ empty: true });
  const first = await run('migrate');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/^applied schema\.sql$/m);
  expect(first.stdout).toMatch(/The schema went from version 0 to version \d+\.\n$/);
  const second = await run('migrate');
  expect(second.stdout).toMatch(/^The schema is up to date, at version \d+\. Nothing was done\.\n$/);
});

test('--json prints the same as JSON', async () => {
  const { run } = terminal({ empty: true });
  const report = JSON.parse((await run('migrate --json')).stdout);
  expect(report).toMatchObject({ from: 0, applied: expect.arrayContaining(['schema.sql']) });
  expect(JSON.parse((await run('migrate --json')).stdout)).toEqual({
    from: report.to,
    to: report.to,
    applied: [],
  });
});

test('with LEADTAP_AUTO_MIGRATE=false other commands need it first', async () => {
  const { run, cwd, database } = terminal({ empty: true });
  const refused = await run('user list', { env: NO_AUTO_MIGRATE });
  expect(refused.code).toBe(1);
  const { env } = await database();
  expect(refused.stderr).toContain(describeDatabase(parseConfig({ env, cwd }).database));
  expect(refused.stderr).toContain('run `leadtap migrate`');
  expect((await run('migrate', { env: NO_AUTO_MIGRATE })).code).toBe(0);
  expect((await run('user list', { env: NO_AUTO_MIGRATE })).code).toBe(0);
});

test('no command changes the database of a newer Leadtap', async () => {
  const { run, database } = terminal();
  await run('migrate');
  await (await database()).addNewerMigration();
  for (const command of ['migrate', 'user list', 'doctor']) {
    const { code, stdout, stderr } = await run(command);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('Update this Leadtap');
  }
});
