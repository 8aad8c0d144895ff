import * as files from '../../migration-files.ts';
import { type MigrationReport, SchemaVersionError, UnusableDatabaseError } from '../store.ts';
import type { Connection } from './connection.ts';

/** Right from `dist/`, too: SQL is not compiled, so its only copy is in `src/`. */
const FOLDER = new URL('../../../src/store/sqlite/migrations/', import.meta.url);

/** `LTAP`, which the first migration writes to the header of the file. */
const APPLICATION_ID = 0x4c544150;

export const expectedVersion = (): number => files.expectedVersion(FOLDER);

export const schemaVersion = (connection: Connection): number =>
  connection.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;

/**
 * Other programs use `user_version` as well; only the application id shows that a file is ours. The tables are counted
 * first: if another process is creating our tables at this moment, the id that is read afterwards is ours.
 */
export function refuseForeignDatabase(connection: Connection): void {
  const tables = connection.prepare<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0;
  const id = connection.prepare<{ application_id: number }>('PRAGMA application_id').get()?.application_id;
  if (tables > 0 && id !== APPLICATION_ID)
    throw new UnusableDatabaseError('the file is a database of another program');
}

/** Without `create`, an empty file is refused. */
export function prepareSchema(connection: Connection, mayMigrate: boolean, create: boolean): void {
  refuseForeignDatabase(connection);
  if (!create && schemaVersion(connection) === 0) throw new SchemaVersionError(0, expectedVersion());
  connection.useWriteAheadLog();
  if (mayMigrate) migrate(connection);
  const found = schemaVersion(connection);
  if (found !== expectedVersion()) throw new SchemaVersionError(found, expectedVersion());
}

function plan(connection: Connection): files.MigrationPlan {
  const planned = files.planMigrations(FOLDER, schemaVersion(connection));
  if (planned.from > planned.to) throw new SchemaVersionError(planned.from, planned.to);
  return planned;
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
    for (const { sql } of pending) connection.exec(sql);
    connection.exec(`PRAGMA user_version = ${report.to}`);
    return report;
  });
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
