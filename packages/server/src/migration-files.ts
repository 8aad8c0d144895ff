import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The numbered .sql files of a folder, sorted by number. */
export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return files.sort().map((name) => ({
    version: Number.parseInt(name, 10),
    name,
    sql: readFileSync(new URL(name, folder), 'utf8'),
  }));
}

export interface MigrationPlan {
  readonly from: number;
  readonly to: number;
  /** Empty if the schema is up to date or newer than this program. */
  readonly pending: readonly Migration[];
  /** The names of the pending migrations. */
  readonly applied: readonly string[];
}

export function planMigrations(folder: URL, from: number): MigrationPlan {
  const migrations = readMigrations(folder);
  const pending = migrations.filter(({ version }) => version > from);
  return { from, to: latestVersion(migrations), pending, applied: pending.map(({ name }) => name) };
}

export const expectedVersion = (folder: URL): number => latestVersion(readMigrations(folder));

const latestVersion = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;
