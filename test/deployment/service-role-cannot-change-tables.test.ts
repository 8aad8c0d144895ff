import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { findOnPath, findProgram } from '../../packages/testing/servers/find-program.ts';
import { startPostgres } from '../../packages/testing/servers/postgres.ts';
import { ROOT } from './support/dockerfile.ts';

const run = promisify(execFile);
const PSQL = { name: 'psql', debian: 'postgresql-client', homebrew: 'libpq', find: () => findOnPath('psql') };
const LOGIN = join(ROOT, 'deploy/postgres/login.sql');

/** The steps of compose.yaml, on a separate cluster, because all databases of a cluster share its roles. */
test('deploy/postgres/login.sql creates a login for every command except `migrate`', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const cwd = await mkdtemp(join(tmpdir(), 'leadtap-login-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const leadtap = async (url: string, ...argv: string[]) => {
    const env = { PATH: process.env['PATH'], LEADTAP_DATABASE_URL: url, LEADTAP_AUTO_MIGRATE: 'false' };
    return run(process.execPath, [join(ROOT, 'packages/server/bin/leadtap.js'), ...argv], { cwd, env });
  };
  const makeLogin = (env: Record<string, string>) =>
    run(findProgram(PSQL), ['--no-psqlrc', '--quiet', `--file=${LOGIN}`, server.url], {
      env: { PATH: process.env['PATH'], ...env },
    });

  await leadtap(server.url, 'migrate');
  await expect(makeLogin({})).rejects.toThrow('SERVICE_PASSWORD is not set');
  await makeLogin({ SERVICE_PASSWORD: 'first' });
  await makeLogin({ SERVICE_PASSWORD: "it's another" });

  const url = server.url.replace('postgres@', 'leadtap_app@');
  await leadtap(url, 'org', 'apply', join(ROOT, 'examples/organisation.json'));
  const { stdout } = await leadtap(url, 'leads', 'import', join(ROOT, 'examples/leads.csv'));
  expect(stdout).toMatch(/[1-9]\d* added, 0 updated, 0 rejected/);
  expect((await leadtap(url, 'user', 'list')).stdout).toContain('ada');

  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await expect(client.query('ALTER TABLE leadtap.leads ADD COLUMN note text')).rejects.toThrow(
    'must be owner',
  );
});
