import { readdirSync, readFileSync } from 'node:fs';
import { SchemaVersionError, UnusableDatabaseError } from '../store.ts';
import type { Connection } from './connection.ts';

/** Also right from `dist/`: the SQL is not compiled, so there is one copy of it, in `src/`. */
const FOLDER = new URL('../../../src/store/sqlite/migrations/', import.meta.url);

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

function readMigrations(): readonly Migration[] {
  const files = readdirSync(FOLDER).filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return files.sort().map((name) => ({
    version: Number.parseInt(name, 10),
    name,
    sql: readFileSync(new URL(name, FOLDER), 'utf8'),
  }));
}

export const expectedVersion = (): number => readMigrations().at(-1)?.version ?? 0;

export function schemaVersion(connection: Connection): number {
  return connection.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
}

function refuseForeignDatabase(connection: Connection): void {
  const tables = connection.prepare<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0;
  if (tables > 0) throw new UnusableDatabaseError('the file is a database of another program');
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  readonly applied: readonly string[];
}

/**
 * Brings the schema up to date. The version is read again under the write lock, so any number of processes
 * may do this at once: the first one works, the others find nothing left to do.
 */
export function migrate(connection: Connection): MigrationReport {
  return connection.transaction(() => {
    const from = schemaVersion(connection);
    const migrations = readMigrations();
    const to = migrations.at(-1)?.version ?? 0;
    if (from > to) throw new SchemaVersionError(from, to);
    if (from === 0) refuseForeignDatabase(connection);
    const pending = migrations.filter(({ version }) => version > from);
    for (const { sql } of pending) connection.exec(sql);
    connection.exec(`PRAGMA user_version = ${to}`);
    return { from, to, applied: pending.map(({ name }) => name) };
  });
}
