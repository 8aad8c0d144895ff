import * as files from '../../migration-files.ts';
import { type MigrationReport, SchemaVersionError, UnusableDatabaseError } from '../store.ts';
import type { Connection } from './connection.ts';

/** Also right from `dist/`: the SQL is not compiled, so there is one copy of it, in `src/`. */
const FOLDER = new URL('../../../src/store/sqlite/migrations/', import.meta.url);

export const expectedVersion = (): number => files.expectedVersion(FOLDER);

export function schemaVersion(connection: Connection): number {
  return connection.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
}

/** `LTAP`, which the first migration writes into the header of the file. */
const APPLICATION_ID = 0x4c544150;

/**
 * Other programs count their versions in `user_version`, too; only the application id tells whose file it is. The
 * tables are counted first: if our own are being made at this moment, the id that is read afterwards is ours.
 */
export function refuseForeignDatabase(connection: Connection): void {
  const tables = connection.prepare<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0;
  const id = connection.prepare<{ application_id: number }>('PRAGMA application_id').get()?.application_id;
  if (tables > 0 && id !== APPLICATION_ID)
    throw new UnusableDatabaseError('the file is a database of another program');
}

function plan(connection: Connection): files.MigrationPlan {
  const planned = files.planMigrations(FOLDER, schemaVersion(connection));
  if (planned.from > planned.to) throw new SchemaVersionError(planned.from, planned.to);
  return planned;
}

/**
 * Brings the schema up to date. The version is read again under the write lock, so any number of processes
 * may do this at once: the first one works, the others find nothing left to do. A schema that is up to date
 * needs no lock, so that a program can be started while another one writes.
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
