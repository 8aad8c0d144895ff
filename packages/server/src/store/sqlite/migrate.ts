import { OtherSchemaError, SchemaVersionError, UnusableDatabaseError } from '../../sql/errors.ts';
import * as migrations from '../migrations.ts';
import type { MigrationReport, SchemaOptions } from '../store.ts';
import type { Connection } from './connection.ts';

/** Right from `dist/`, too: SQL is not compiled, so its only copy is in `src/`. */
const FOLDER = new URL('../../../src/store/sqlite/', import.meta.url);

/** `LTAP`, which `schema.sql` writes to the header of the file. */
const APPLICATION_ID = 0x4c544150;

export const expectedVersion = (): number => migrations.readMigrations(FOLDER).length;

/**
 * Only the application id shows that a file is ours. The tables are counted first: if another process is creating our tables at this
 * moment, the id that is read afterwards is ours.
 */
function readApplied(connection: Connection): migrations.AppliedMigration[] {
  const tables = connection.prepare<{ name: string }>('SELECT name FROM sqlite_schema').all();
  if (tables.length === 0) return [];
  const id = connection.prepare<{ application_id: number }>('PRAGMA application_id').get()?.application_id;
  if (id !== APPLICATION_ID) throw new UnusableDatabaseError('the file is a database of another program');
  if (!tables.some(({ name }) => name === 'migrations')) throw new OtherSchemaError();
  return connection.prepare<migrations.AppliedMigration>('SELECT * FROM migrations ORDER BY version').all();
}

/** Refuses a database of another program, or with another schema. In one snapshot: another process may be migrating. */
export function readPlan(connection: Connection): migrations.MigrationPlan {
  const result = connection.savepoint(() =>
    migrations.planMigrations(migrations.readMigrations(FOLDER), readApplied(connection)),
  );
  if ('error' in result) throw result.error;
  return result.value;
}

/** Throws if this program cannot use the schema. */
function plan(connection: Connection): migrations.MigrationPlan {
  const planned = readPlan(connection);
  if (planned.from > planned.to) throw new SchemaVersionError(planned.from, planned.to);
  return planned;
}

export function useSchema(connection: Connection, options: SchemaOptions): MigrationReport | undefined {
  migrations.needsMigration(readPlan(connection), options);
  connection.useWriteAheadLog();
  // Also if nothing is to be migrated: its transaction creates the `-wal` file, which shows that the database is in use.
  return (options.migrate ?? true) ? migrate(connection) : undefined;
}

/**
 * Applies the pending migrations. The version is read again under the write lock, so several processes may do this at
 * once: the first one migrates, the others find nothing pending. An up-to-date schema needs no lock, so that a program
 * can start while another one writes.
 */
export function migrate(connection: Connection): MigrationReport {
  const { pending, ...upToDate } = plan(connection);
  if (pending.length === 0) return upToDate;
  return connection.transaction(() => {
    const { pending, ...report } = plan(connection);
    for (const migration of pending) apply(connection, migration);
    return report;
  });
}

/** `schema.sql` makes the table in which it is recorded. */
function apply(connection: Connection, { version, name, checksum, sql }: migrations.Migration): void {
  connection.exec(sql);
  const record = connection.prepare('INSERT INTO migrations (version, name, checksum) VALUES (?, ?, ?)');
  record.run(version, name, checksum);
}

/** SQLite's own checks of the file and of the references between rows. One sentence for each error. */
export function findFaults(connection: Connection): string[] {
  const integrity = connection.prepare<{ quick_check: string }>('PRAGMA quick_check').all();
  const references = connection.prepare<{ table: string; parent: string }>('PRAGMA foreign_key_check').all();
  return [
    ...integrity.map((row) => row.quick_check).filter((line) => line !== 'ok'),
    ...references.map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that is missing`,
    ),
  ];
}
