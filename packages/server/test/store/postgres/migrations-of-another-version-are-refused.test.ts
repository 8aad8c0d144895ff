import { ChangedMigrationError } from 'leadtap';
import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { readMigrations } from '../../../src/migration-files.ts';
import { inspectPostgres, migratePostgres } from '../../../src/store/postgres/store.ts';
import { terminal } from '../../cli/terminal.ts';
import { connectSql } from './sql-client.ts';

const MIGRATIONS = readMigrations(new URL('../../../src/store/postgres/migrations/', import.meta.url));
/** The last version that stored no checksums. */
const WITHOUT_CHECKSUMS = 7;

const versionsOf = async (client: Client): Promise<unknown[]> =>
  (await client.query('SELECT * FROM leadtap.migrations ORDER BY version')).rows;

/** A database as a version of Leadtap made it that stored no checksums. */
async function makeOldDatabase(names: readonly string[] = MIGRATIONS.map(({ name }) => name)) {
  const database = await makeTestDatabase(undefined, { empty: true });
  const client = await connectSql(database.url);
  await client.query(`CREATE SCHEMA leadtap; CREATE TABLE leadtap.migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const { version, sql } of MIGRATIONS.slice(0, WITHOUT_CHECKSUMS)) {
    await client.query(sql);
    const values = [version, names[version - 1]];
    await client.query('INSERT INTO leadtap.migrations (version, name) VALUES ($1, $2)', values);
  }
  return { database, client };
}

async function expectRefusal(
  { database, client }: Awaited<ReturnType<typeof makeOldDatabase>>,
  message: string,
): Promise<void> {
  const before = await versionsOf(client);
  for (const open of [
    () => database.openStore(),
    () => migratePostgres(database.url),
    () => inspectPostgres(database.url, Date.now),
  ])
    await expect(open()).rejects.toThrow(new ChangedMigrationError(message));
  expect(await versionsOf(client)).toEqual(before);
}

describe('a schema of a version with other migrations is refused and not changed', () => {
  const OTHER_NAMES = ['0001_foundation.sql', '0002_changes.sql', '0003_intake.sql', '0004_plans.sql'];

  it('that stored no checksums: by the name of a migration', async () => {
    const old = await makeOldDatabase([...OTHER_NAMES, ...MIGRATIONS.slice(4).map(({ name }) => name)]);
    await expectRefusal(old, 'its migration 0001_foundation.sql is not the one of this version');
  });

  it('by the checksum of a migration', async () => {
    const database = await makeTestDatabase();
    const client = await connectSql(database.url);
    await client.query(`UPDATE leadtap.migrations SET checksum = 'other' WHERE version = 3`);
    await expectRefusal(
      { database, client },
      'its migration 0003_change_log.sql is not the one of this version',
    );
  });

  it('by a migration that is missing', async () => {
    const database = await makeTestDatabase();
    const client = await connectSql(database.url);
    await client.query('DELETE FROM leadtap.migrations WHERE version = 3');
    await expectRefusal({ database, client }, 'its migration 3 is missing');
  });

  it('and the command says what to do', async () => {
    const { run, database } = terminal();
    const client = await connectSql((await database()).url);
    await client.query(`UPDATE leadtap.migrations SET checksum = 'other' WHERE version = 3`);
    const { code, stderr } = await run('migrate');
    expect(code).toBe(1);
    expect(stderr).toContain('another version of Leadtap made the database');
    expect(stderr).toContain('Nothing was changed.');
    expect(stderr).toContain('run the version of Leadtap that made it');
    expect(stderr).toContain('docs/operations.md');
  });
});

it('a schema that stored no checksums is updated, keeps its rows, and has the checksums afterwards', async () => {
  const { database, client } = await makeOldDatabase();
  await client.query(`INSERT INTO leadtap.companies (id, name) VALUES ('acme', 'Acme')`);
  expect(await migratePostgres(database.url)).toMatchObject({
    from: WITHOUT_CHECKSUMS,
    to: MIGRATIONS.length,
  });
  expect(await versionsOf(client)).toMatchObject(
    MIGRATIONS.map(({ version, name, checksum }) => ({ version, name, checksum })),
  );
  const { rows } = await client.query('SELECT id FROM leadtap.companies');
  expect(rows).toEqual([{ id: 'acme' }]);
  await (await database.openStore()).close();
});
