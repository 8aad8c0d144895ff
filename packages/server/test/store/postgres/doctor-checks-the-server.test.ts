import { describe, expect, test } from 'vitest';
import { makeTestRedis } from '../../../../testing/harness/redis.ts';
import { checkEncryption, checkServerSettings } from '../../../src/cli/doctor/database.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { ServerFacts } from '../../../src/store/store.ts';
import { type RunOptions, terminal } from '../../cli/terminal.ts';
import { ownCluster, PASSWORD } from './own-cluster.ts';

const SHARED_KEY = { LEADTAP_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };

const { address, sql, emptyDatabase } = ownCluster();

interface Check {
  check: string;
  state: string;
  detail: string;
  fix: string[];
}

async function doctor(url: string, { env, parts }: RunOptions = {}) {
  const { code, stdout, stderr } = await terminal().run('doctor --json', {
    env: {
      LEADTAP_PORT: '0',
      LEADTAP_METRICS_ADDRESS: 'off',
      LEADTAP_DATABASE_URL: url,
      ...SHARED_KEY,
      ...env,
    },
    parts: { clock: systemClock, ...parts },
  });
  expect(stdout + stderr).not.toContain(PASSWORD);
  const { checks }: { checks: Check[] } = JSON.parse(stdout);
  return { code, checks, of: (name: string) => checks.find(({ check }) => check === name) };
}

const migrate = (url: string) => terminal().run('migrate', { env: { LEADTAP_DATABASE_URL: url } });

test('a healthy installation without connections is all ticks beside that', async () => {
  const name = await emptyDatabase();
  const url = address('postgres', name);
  await migrate(url);
  await terminal().run('org apply -', {
    env: { LEADTAP_DATABASE_URL: url },
    stdin: '{"companies": [{"id": "acme", "name": "Acme"}]}',
  });
  const { code, checks, of } = await doctor(url);
  expect(code).toBe(0);
  expect(checks.map(({ check, state }) => `${state} ${check}`)).toEqual([
    ...[
      'Node.js',
      'configuration',
      'database',
      'schema',
      'database server',
      'rate limits',
      'signing key',
      'clock',
      'port',
      'metrics port',
    ].map((check) => `ok ${check}`),
    // Nothing is connected yet.
    'unknown connections',
  ]);
  expect(of('database')?.detail).toMatch(/^PostgreSQL \d+\.\d+.*, postgres:\/\/postgres@127\.0\.0\.1:\d+\//);
  expect(of('database')?.detail).toContain(`/${name}`);
});

test('a database without the schema stays without it', async () => {
  const url = address('postgres', await emptyDatabase());
  const first = await doctor(url);
  expect(first.of('database')).toMatchObject({
    state: 'warning',
    detail: expect.stringContaining('there is no schema leadtap'),
  });
  expect(first.of('database server')).toMatchObject({ state: 'ok' });
  const second = await doctor(url, { env: { LEADTAP_AUTO_MIGRATE: 'false' } });
  expect(second).toMatchObject({ code: 1 });
  expect(second.of('database')).toMatchObject({ state: 'failed', fix: ['Run `leadtap migrate`.'] });
});

test('a server that cannot be reached is reported once, and the rest is checked all the same', async () => {
  const { of, code } = await doctor(`postgres://app:${PASSWORD}@127.0.0.1:1/leads`);
  expect(code).toBe(1);
  expect(of('database')).toMatchObject({
    state: 'failed',
    detail: 'the database cannot be reached (postgres://app@127.0.0.1:1/leads, ECONNREFUSED)',
    fix: [expect.stringContaining('Start PostgreSQL')],
  });
  expect(of('database server')).toBeUndefined();
  expect(of('clock')).toMatchObject({ state: 'ok' });
});

describe('settings of the server', () => {
  test.each([
    ["SET default_transaction_isolation = 'repeatable read'", 'failed', 'repeatable read'],
    ['SET synchronous_commit = off', 'warning', 'acknowledged'],
  ])('%s', async (setting, state, words) => {
    const name = await emptyDatabase();
    const url = address('postgres', name);
    await sql(`ALTER DATABASE ${name} ${setting}`);
    expect((await doctor(url)).of('database server')).toMatchObject({
      state,
      detail: expect.stringContaining(words),
    });
  });

  test('synchronous_commit = off of another role', async () => {
    const name = await emptyDatabase();
    await sql(`CREATE ROLE writer_${name}`);
    await sql(`ALTER ROLE writer_${name} IN DATABASE ${name} SET synchronous_commit = off`);
    expect((await doctor(address('postgres', name))).of('database server')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('acknowledged'),
    });
  });

  test('an encoding that cannot hold every name', async () => {
    const url = address('postgres', await emptyDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"));
    expect((await doctor(url)).of('database server')).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('LATIN1'),
      fix: [expect.stringContaining('createdb --encoding=UTF8')],
    });
  });

  test('a standby', () => {
    const facts: ServerFacts = {
      clockAheadMs: 0,
      isStandby: true,
      isDurable: true,
      isolation: 'read committed',
      encoding: 'UTF8',
    };
    expect(checkServerSettings(facts)).toMatchObject({
      state: 'failed',
      fix: [expect.stringContaining('Name the primary')],
    });
  });
});

describe('the clocks', () => {
  test.each([
    [0, 'ok'],
    [60_000, 'warning'],
    [-60_000, 'warning'],
  ])('of database and machine, %i ms apart: %s', async (apartMs, state) => {
    const url = address('postgres', await emptyDatabase());
    const { of } = await doctor(url, { parts: { clock: () => Date.now() + apartMs } });
    expect(of('clock')).toMatchObject({
      state,
      detail: expect.stringContaining('the clock of the database is'),
    });
  });

  test.each([
    [10, undefined],
    [600, 'warning'],
  ])('leads %i s ahead of the clock of the database: %s', async (aheadS, state) => {
    const name = await emptyDatabase();
    const url = address('postgres', name);
    await migrate(url);
    const floor = `now() + interval '${aheadS} seconds'`;
    await sql(
      `INSERT INTO leadtap.companies (id, name, stamp_floor) VALUES ('acme', 'Acme', ${floor})`,
      name,
    );
    expect((await doctor(url)).of('stamps-ahead')?.state).toBe(state);
  });
});

describe('the signing key', () => {
  test('of this machine alone is warned of, whether it is there yet or not', async () => {
    const url = address('postgres', await emptyDatabase());
    const shell = terminal();
    const env = { LEADTAP_PORT: '0', LEADTAP_DATABASE_URL: url };
    expect((await shell.run('doctor', { env })).stdout).toContain(
      `! signing key: ${shell.path('data/signing.key')} does not exist yet\n    Every instance`,
    );
    shell.save('organisation.json', { companies: [] });
    await shell.run('org apply organisation.json', { env });
    expect((await shell.run('doctor', { env })).stdout).toContain(
      `! signing key: only this machine has ${shell.path('data/signing.key')}\n    Every instance`,
    );
    const chosen = { ...env, LEADTAP_SIGNING_KEY_FILE: 'data/../data/../keys/shared.key' };
    await shell.run('org apply organisation.json', { env: chosen });
    expect((await shell.run('doctor', { env: chosen })).stdout).toContain('✓ signing key: 1 key');
  });
});

describe('rate limits', () => {
  test('Redis is checked', async () => {
    const url = address('postgres', await emptyDatabase());
    const redis = await makeTestRedis();
    expect((await doctor(url, { env: redis.env })).of('rate limits')).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^shared in redis:\/\/127\.0\.0\.1:\d+\/\d+, version \d/),
    });
  });

  test('an unreachable Redis is a warning, because polls still work', async () => {
    const env = { LEADTAP_REDIS_URL: `redis://app:${PASSWORD}@127.0.0.1:1/2` };
    const url = address('postgres', await emptyDatabase());
    const { code, of } = await doctor(url, { env });
    expect(code).toBe(0);
    expect(of('rate limits')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('redis://app@127.0.0.1:1/2'),
    });
  });
});

test.each([
  ['postgres://db.internal/leads', {}, 1],
  ['postgres://db.internal/leads?sslmode=disable', {}, 0],
  ['postgres://db.internal/leads?sslmode=verify-full', {}, 0],
  ['postgres://db.internal/leads', { PGSSLMODE: 'verify-full' }, 0],
  ['postgres://localhost/leads', {}, 0],
  ['postgres://[::1]/leads', {}, 0],
  ['postgres://db.internal/leads?host=/run/pg', {}, 0],
])('%s with %j: %i warning that the connection is not encrypted', (url, env, count) => {
  expect(checkEncryption(url, env)).toHaveLength(count);
});
