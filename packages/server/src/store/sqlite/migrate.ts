import * as files from '../../migration-files.ts';
import { ChangedMigrationError, SchemaVersionError, UnusableDatabaseError } from '../errors.ts';
import type { MigrationReport } from '../store.ts';
import { Connection } from './connection.ts';

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
function refuseForeignDatabase(connection: Connection): void {
  const tables = connection.prepare<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0;
  const id = connection.prepare<{ application_id: number }>('PRAGMA application_id').get()?.application_id;
  if (tables > 0 && id !== APPLICATION_ID)
    throw new UnusableDatabaseError('the file is a database of another program');
}

/** The columns of each table, and the text of each index and trigger without comments and line breaks. */
function readSchemaParts(connection: Connection): string[] {
  const columns = connection.prepare<{ part: string }>(
    `SELECT t.name || '.' || c.name || ' ' || c.type AS part
       FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
  );
  const others = connection.prepare<{ part: string }>(
    `SELECT sql AS part FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL`,
  );
  return [...columns.all(), ...others.all()].map(({ part }) =>
    part.replace(/--[^\n]*/g, ' ').replace(/\s+/g, ' '),
  );
}

/** The schema that the migrations of this program make. */
function makeSchemaParts(version: number): string[] {
  const connection = new Connection(':memory:');
  try {
    for (const { sql } of files.readMigrations(FOLDER).slice(0, version)) connection.exec(sql);
    return readSchemaParts(connection);
  } finally {
    connection.close();
  }
}

/** Undefined in a database that is older than the checksums. */
function readApplied(connection: Connection): files.AppliedMigration[] | undefined {
  const tables = connection.prepare(
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`,
  );
  if (tables.get() === undefined) return undefined;
  const applied = connection.prepare<files.AppliedMigration>(
    'SELECT version, name, checksum FROM migrations ORDER BY version',
  );
  return applied.all();
}

/**
 * The migrations of another version of Leadtap may have the same numbers. Ours would destroy what they made. A database that is
 * older than the checksums must have all parts of our schema; the operator may have added others.
 */
function refuseChangedMigrations(connection: Connection): void {
  const version = schemaVersion(connection);
  const applied = readApplied(connection);
  if (applied) {
    const difference = files.describeDifference(files.readMigrations(FOLDER), applied);
    if (difference !== undefined) throw new ChangedMigrationError(difference);
  } else if (version > 0 && version <= expectedVersion()) {
    const found = new Set(readSchemaParts(connection));
    if (!makeSchemaParts(version).every((part) => found.has(part)))
      throw new ChangedMigrationError(`its tables are not those of schema version ${version}`);
  }
}

/** A database of another program, or of a version of Leadtap with other migrations. In one snapshot: another process may be migrating. */
export function refuseUnknownSchema(connection: Connection): void {
  const result = connection.savepoint(() => {
    refuseForeignDatabase(connection);
    refuseChangedMigrations(connection);
  });
  if ('error' in result) throw result.error;
}

export function readPlan(connection: Connection): files.MigrationPlan {
  refuseUnknownSchema(connection);
  return files.planMigrations(FOLDER, schemaVersion(connection), readApplied(connection) ?? []);
}

/** Throws if this program cannot use the schema. */
function plan(connection: Connection): files.MigrationPlan {
  const planned = readPlan(connection);
  if (planned.from > planned.to) throw new SchemaVersionError(planned.from, planned.to);
  return planned;
}

/** Without `create`, an empty file is refused. */
export function prepareSchema(
  connection: Connection,
  mayMigrate: boolean,
  create: boolean,
): MigrationReport | undefined {
  const { from, to } = plan(connection);
  if (!create && from === 0) throw new SchemaVersionError(from, to);
  connection.useWriteAheadLog();
  const report = mayMigrate ? migrate(connection) : undefined;
  const found = schemaVersion(connection);
  if (found !== to) throw new SchemaVersionError(found, to);
  return report;
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
    recordMigrations(connection);
    connection.exec(`PRAGMA user_version = ${report.to}`);
    return report;
  });
}

/** Also those that were applied before checksums were stored. */
function recordMigrations(connection: Connection): void {
  const recorded = readApplied(connection)?.length ?? 0;
  const record = connection.prepare('INSERT INTO migrations (version, name, checksum) VALUES (?, ?, ?)');
  for (const { version, name, checksum } of files.readMigrations(FOLDER).slice(recorded))
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
