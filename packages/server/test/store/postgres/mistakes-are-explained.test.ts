import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { terminal } from '../../cli/terminal.ts';
import { ownCluster, PASSWORD } from './own-cluster.ts';

const { address, sql, emptyDatabase } = ownCluster();

beforeAll(() => sql('CREATE ROLE clerk LOGIN'));

async function run(command: string, url: string, env: Record<string, string> = {}) {
  const ran = await terminal().run(command, { env: { LEADTAP_DATABASE_URL: url, ...env } });
  expect(ran.stdout + ran.stderr).not.toContain(PASSWORD);
  return ran;
}

async function refusal(command: string, url: string, env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(command, url, env);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).not.toContain('unexpected error');
  return stderr;
}

describe('a database that cannot be used', () => {
  test('no server listens there', async () => {
    const stderr = await refusal('user list', `postgres://clerk:${PASSWORD}@127.0.0.1:1/leads`);
    expect(stderr).toContain('(postgres://clerk@127.0.0.1:1/leads, ECONNREFUSED)');
    expect(stderr).toContain('Start PostgreSQL');
  });

  test('there is no such database', async () => {
    const stderr = await refusal('user list', address('clerk', 'no-such-base'));
    expect(stderr).toContain('PostgreSQL says: database "no-such-base" does not exist');
    expect(stderr).toContain('createdb --owner=clerk');
  });

  test('there is no such user', async () => {
    const stderr = await refusal('user list', address('unknown_role', 'postgres'));
    expect(stderr).toContain('PostgreSQL says: role "unknown_role" does not exist');
    expect(stderr).toContain('Correct the user');
  });

  test('it has no connection left', async () => {
    const name = await emptyDatabase();
    await sql(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
    const stderr = await refusal('user list', address('clerk', name));
    expect(stderr).toContain('53300');
    expect(stderr).toContain('LEADTAP_DATABASE_CONNECTIONS');
  });

  test('it has no encryption', async () => {
    const stderr = await refusal('user list', `${address('clerk', 'postgres')}?sslmode=require`);
    expect(stderr).toContain('The driver says: The server does not support SSL connections');
    expect(stderr).toContain('write sslmode=disable into LEADTAP_DATABASE_URL');
  });

  test('its certificates are not where they should be', async () => {
    const url = `${address('clerk', 'postgres')}?sslrootcert=no-such.crt`;
    expect(await refusal('user list', url)).toContain('Correct the path in LEADTAP_DATABASE_URL');
  });

  test('its socket is not where it should be', async () => {
    const stderr = await refusal('user list', 'postgres://clerk@/leads?host=/no/such/folder');
    expect(stderr).toContain('(postgres://clerk@/leads?host=/no/such/folder, ENOENT)');
    expect(stderr).toContain('start PostgreSQL');
  });

  test('its schema leadtap is of another program', async () => {
    const name = await emptyDatabase();
    await sql('CREATE SCHEMA leadtap; CREATE TABLE leadtap.something (x integer)', name);
    expect(await refusal('migrate', address('postgres', name))).toContain('Name another database');
  });
});

describe('rights', () => {
  test('for a role that may not create the schema, the error names the missing right', async () => {
    const name = await emptyDatabase();
    const stderr = await refusal('migrate', address('clerk', name));
    expect(stderr).toContain('PostgreSQL says: permission denied for database');
    expect(stderr).toContain(`GRANT CREATE ON DATABASE ${name} TO clerk`);
  });

  test('a role that may only create the schema does so without the roles, with a warning', async () => {
    const name = await emptyDatabase();
    await sql(`GRANT CREATE ON DATABASE ${name} TO clerk`);
    const { code, stdout, stderr } = await run('migrate', address('clerk', name));
    expect(code).toBe(0);
    expect(stdout).toContain('The schema went from version 0');
    expect(stderr).toMatch(/^leadtap: this user may not create the roles .*\n$/);
    expect((await run('user list', address('clerk', name))).code).toBe(0);
  });

  test('for a role without rights in the schema, the error names the role that it needs', async () => {
    const name = await emptyDatabase();
    await run('migrate', address('postgres', name));
    const env = { LEADTAP_AUTO_MIGRATE: 'false' };
    const stderr = await refusal('user list', address('clerk', name), env);
    expect(stderr).toContain('GRANT leadtap_service TO clerk');
    await sql('GRANT leadtap_service TO clerk');
    onTestFinished(() => sql('REVOKE leadtap_service FROM clerk'));
    expect((await run('user list', address('clerk', name), env)).code).toBe(0);
  });
});

describe('the schema', () => {
  test('is created and reported once', async () => {
    const url = address('postgres', await emptyDatabase());
    const first = await run('migrate', url);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^applied schema\.sql$/m);
    expect((await run('migrate', url)).stdout).toContain('Nothing was done.');
  });

  test('is not created with LEADTAP_AUTO_MIGRATE=false', async () => {
    const url = address('postgres', await emptyDatabase());
    const stderr = await refusal('user list', url, { LEADTAP_AUTO_MIGRATE: 'false' });
    expect(stderr).toContain('there is no schema leadtap in ');
    expect(stderr).toContain('run `leadtap migrate` with a role that may create it');
  });
});
