import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ChangedMigrationError, openSqliteStore } from 'leadtap';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { readMigrations } from '../../../src/migration-files.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { expectedVersion, migrate } from '../../../src/store/sqlite/migrate.ts';
import { inspectSqlite, migrateSqlite } from '../../../src/store/sqlite/store.ts';
import { openSqliteMoveSource } from '../../../src/store/sqlite/transfer-source.ts';
import { terminal } from '../../cli/terminal.ts';

const MIGRATIONS = readMigrations(new URL('../../../src/store/sqlite/migrations/', import.meta.url));
/** The last version that stored no checksums. */
const WITHOUT_CHECKSUMS = 4;

let file = '';
beforeEach(() => {
  file = join(tempFolder(), 'leadtap.db');
});

function run(...statements: string[]): void {
  const connection = new Connection(file);
  for (const sql of statements) connection.exec(sql);
  connection.close();
}

/** A file as a version of Leadtap made it that stored no checksums. */
const makeOldFile = (version: number, ...statements: string[]): void =>
  run(
    ...MIGRATIONS.slice(0, version).map(({ sql }) => sql),
    `PRAGMA user_version = ${version}; PRAGMA journal_mode = WAL`,
    ...statements,
  );

const makeFile = async () => (await openSqliteStore({ file })).close();

async function expectRefusal(message: string): Promise<void> {
  const before = readFileSync(file);
  for (const open of [
    () => openSqliteStore({ file }),
    () => openSqliteStore({ file, migrate: false }),
    () => migrateSqlite(file),
    () => inspectSqlite(file),
  ])
    await expect(open()).rejects.toThrow(new ChangedMigrationError(message));
  await expect(openSqliteMoveSource(file)).rejects.toMatchObject({ cause: { message } });
  expect(readFileSync(file).equals(before)).toBe(true);
}

describe('a file of a version with other migrations is refused and not changed', () => {
  it.each([
    ['a table has another name', 'ALTER TABLE stamp_floors RENAME TO floors'],
    ['a column is missing', 'ALTER TABLE users DROP COLUMN name'],
    ['an index is missing', 'DROP INDEX leads_by_branch'],
    [
      'a trigger does something else',
      'DROP TRIGGER log_delete_of_lead; CREATE TRIGGER log_delete_of_lead AFTER DELETE ON leads BEGIN SELECT 1; END',
    ],
  ])('that stored no checksums: %s', async (_difference, statement) => {
    makeOldFile(2, statement);
    await expectRefusal('its tables are not those of schema version 2');
  });

  it('by the checksum of a migration', async () => {
    await makeFile();
    run(`UPDATE migrations SET checksum = 'other' WHERE version = 2`);
    await expectRefusal('its migration 0002_token_scopes.sql is not the one of this version');
  });

  it('by the name of a migration', async () => {
    await makeFile();
    run(`UPDATE migrations SET name = '0001_other.sql' WHERE version = 1`);
    await expectRefusal('its migration 0001_other.sql is not the one of this version');
  });

  it('by the checksum of a migration, while others are pending', async () => {
    await makeFile();
    run(
      `UPDATE migrations SET checksum = 'other' WHERE version = 2`,
      `DELETE FROM migrations WHERE version = ${expectedVersion()}`,
      `PRAGMA user_version = ${expectedVersion() - 1}`,
    );
    await expectRefusal('its migration 0002_token_scopes.sql is not the one of this version');
  });

  it('by a migration that is missing', async () => {
    await makeFile();
    run('DELETE FROM migrations WHERE version = 3');
    await expectRefusal('its migration 3 is missing');
  });

  it('by a migration that is missing among those of a newer version', async () => {
    await makeFile();
    const newer = expectedVersion() + 2;
    run(
      `INSERT INTO migrations (version, name, checksum) VALUES (${newer}, 'later.sql', 'x')`,
      `PRAGMA user_version = ${newer}`,
    );
    await expectRefusal(`its migration ${newer - 1} is missing`);
  });

  it('and the command says what to do', async () => {
    makeOldFile(2, 'ALTER TABLE stamp_floors RENAME TO floors');
    const { run: runCommand } = terminal();
    const { code, stderr } = await runCommand('migrate', { env: { LEADTAP_DATABASE_URL: `sqlite:${file}` } });
    expect(code).toBe(1);
    expect(stderr).toContain(`another version of Leadtap made the database (${file})`);
    expect(stderr).toContain('Nothing was changed.');
    expect(stderr).toContain('run the version of Leadtap that made it');
    expect(stderr).toContain('docs/operations.md');
  });
});

describe('a file that stored no checksums', () => {
  it.each(MIGRATIONS.slice(0, WITHOUT_CHECKSUMS))('is updated from $name', async ({ version }) => {
    makeOldFile(version);
    expect(await migrateSqlite(file)).toMatchObject({ from: version, to: expectedVersion() });
    await makeFile();
  });

  it('keeps its rows, and the indexes and columns of the operator', async () => {
    makeOldFile(
      WITHOUT_CHECKSUMS,
      `INSERT INTO companies (id, name) VALUES ('acme', 'Acme');
       CREATE INDEX mine ON leads (company_id, email); ALTER TABLE users ADD COLUMN mine TEXT; ANALYZE`,
    );
    const store = await openSqliteStore({ file });
    await store.applyOrganisation(ORGANISATION);
    await store.close();
    await makeFile();
    expect((await inspectSqlite(file)).schemaVersion).toBe(expectedVersion());
  });

  it('has the checksums of all its migrations afterwards', async () => {
    makeOldFile(WITHOUT_CHECKSUMS);
    await makeFile();
    const connection = new Connection(file);
    const rows = connection.prepare('SELECT version, name, checksum FROM migrations').all();
    connection.close();
    expect(rows).toEqual(MIGRATIONS.map(({ version, name, checksum }) => ({ version, name, checksum })));
  });

  it('is as before if the migration fails before its end', async () => {
    makeOldFile(WITHOUT_CHECKSUMS);
    const connection = new Connection(file);
    const { exec } = connection;
    vi.spyOn(connection, 'exec').mockImplementation((sql) => {
      if (sql.startsWith('PRAGMA user_version')) throw new Error('the power is cut');
      exec.call(connection, sql);
    });
    expect(() => migrate(connection)).toThrow('the power is cut');
    expect(connection.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'migrations'`).get()).toBeUndefined();
    connection.close();
    expect(await migrateSqlite(file)).toMatchObject({ from: WITHOUT_CHECKSUMS, to: expectedVersion() });
  });
});

it('a folder in which a migration is missing is refused', () => {
  const folder = tempFolder();
  for (const name of ['0001_a.sql', '0003_c.sql']) writeFileSync(join(folder, name), 'SELECT 1;');
  expect(() => readMigrations(pathToFileURL(`${folder}/`))).toThrow('migration 2 is missing');
});
