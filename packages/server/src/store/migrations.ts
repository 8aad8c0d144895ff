import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { OtherSchemaError, SchemaVersionError } from '../sql/errors.ts';
import type { SchemaOptions } from './store.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** As a database has recorded it. */
export interface AppliedMigration {
  readonly version: number;
  readonly checksum: string;
  /** The checksum of `functions.sql` then, on a database that has functions. */
  readonly functions?: string;
}

/** SHA-256 of the text with LF line ends: a checkout with CRLF has the same. */
export const checksumOf = (sql: string): string =>
  createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');

/** Version 1 is `schema.sql`. Later ones are the numbered files of the folder `migrations/` beside it, from `0002_name.sql` on. */
export function readMigrations(folder: URL): readonly Migration[] {
  const later = new URL('migrations/', folder);
  const files = existsSync(later) ? readdirSync(later).sort() : [];
  return ['schema.sql', ...files].map((name, index) => {
    const version = index + 1;
    // The later ones would run without what it makes.
    if (index > 0 && Number.parseInt(name, 10) !== version)
      throw new Error(`migration ${version} is missing from ${later}`);
    const sql = readFileSync(new URL(name, index === 0 ? folder : later), 'utf8');
    return { version, name, sql, checksum: checksumOf(sql) };
  });
}

export interface MigrationPlan {
  readonly from: number;
  /** Less than `from` if a newer program has migrated the database. */
  readonly to: number;
  /** Empty if the schema is up to date or newer than this program. */
  readonly pending: readonly Migration[];
  /** The names of the pending migrations. */
  readonly applied: readonly string[];
}

/** Throws if another schema than that of this program was applied: it may have anything, and to migrate it would destroy that. */
export function planMigrations(
  migrations: readonly Migration[],
  recorded: readonly AppliedMigration[],
  functions?: string,
): MigrationPlan {
  const [from, to] = [recorded.length, migrations.length];
  const isOther = recorded.some(
    ({ version, checksum }, index) =>
      version !== index + 1 || (migrations[index] && migrations[index].checksum !== checksum),
  );
  if (isOther || (from === to && recorded.at(-1)?.functions !== functions)) throw new OtherSchemaError();
  const pending = migrations.slice(from);
  return { from, to, pending, applied: pending.map(({ name }) => name) };
}

/** Throws if this program cannot use the schema, or must migrate it first and may not. */
export function needsMigration(
  { from, to }: MigrationPlan,
  { migrate = true, create = true }: SchemaOptions,
): boolean {
  if (from === to) return false;
  const isAllowed = migrate && from < to && (create || from > 0);
  if (!isAllowed) throw new SchemaVersionError(from, to);
  return true;
}
