import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, inject, it } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { terminal } from '../cli/terminal.ts';

/** As the checkouts before the first release made it: with other migrations, and at first without checksums. */
const EARLY_DATABASE = {
  sqlite: `
    CREATE TABLE companies (id TEXT PRIMARY KEY);
    PRAGMA application_id = 0x4c544150;
    PRAGMA user_version = 4`,
  postgres: `
    CREATE SCHEMA leadtap;
    CREATE TABLE leadtap.migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz);
    INSERT INTO leadtap.migrations VALUES (1, '0001_tables.sql'), (2, '0002_stamps.sql')`,
};

const fileOf = (url: string): string => url.replace('sqlite:', '');

async function execute(url: string, sql: string): Promise<void> {
  if (inject('store') === 'postgres')
    return withClient(url, async (client) => void (await client.query(sql)));
  mkdirSync(dirname(fileOf(url)), { recursive: true });
  const connection = new Connection(fileOf(url));
  connection.exec(sql);
  // Otherwise the next program may write the log back.
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
}

/** The bytes of a file; of a server, what it lists. */
async function snapshot(url: string): Promise<unknown> {
  if (inject('store') === 'sqlite') return hash('sha256', readFileSync(fileOf(url)));
  return withClient(url, async (client) => {
    const objects = `SELECT relname, xmin FROM pg_class WHERE relnamespace = to_regnamespace('leadtap') ORDER BY 1`;
    return [(await client.query(objects)).rows, (await client.query('TABLE leadtap.migrations')).rows];
  });
}

it('a database of a checkout before the first release is refused, unchanged', async () => {
  const { run, database } = terminal({ empty: true });
  const { url } = await database();
  await execute(url, EARLY_DATABASE[inject('store')]);
  await expectRefusal(
    run,
    url,
    /its migration 0001_tables.sql is not the one|it has no list of its migrations/,
  );
});

it.each([
  [`SET name = '0001_foundation.sql'`, /its migration 0001_foundation.sql is not the one of this version/],
  [`SET checksum = 'other'`, /its migration 0001_schema.sql is not the one of this version/],
  ['SET version = 9999', /its migration 1 is missing/],
])('a database whose list of migrations differs (%s) is refused, unchanged', async (change, reason) => {
  const { run, database } = terminal();
  await run('migrate');
  const { url } = await database();
  const table = inject('store') === 'sqlite' ? 'migrations' : 'leadtap.migrations';
  await execute(url, `UPDATE ${table} ${change} WHERE version = 1`);
  await expectRefusal(run, url, reason);
});

async function expectRefusal(
  run: ReturnType<typeof terminal>['run'],
  url: string,
  reason: RegExp,
): Promise<void> {
  const before = await snapshot(url);
  for (const command of ['migrate', 'user list', 'serve', 'doctor']) {
    const { code, stdout, stderr } = await run(command);
    expect(code).toBe(1);
    const output = stdout + stderr;
    expect([command, await snapshot(url)]).toEqual([command, before]);
    expect(output).toMatch(reason);
    expect(output).toContain('another version of Leadtap made the database');
    expect(output).toContain('Nothing was changed.');
    expect(output).toContain('`leadtap org export` and `leadtap leads export`');
    expect(output).toContain('`leadtap org apply` and `leadtap leads import --historical`');
  }
}
