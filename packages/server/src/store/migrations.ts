import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ChangedMigrationError, SchemaVersionError } from '../sql/errors.ts';
import type { SchemaOptions } from './store.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text with LF line ends: a checkout with CRLF has the same. */
  readonly checksum: string;
}

/** A migration as a database has recorded it. */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  /** Null in databases of early versions, which stored none. */
  readonly checksum: string | null;
}

/** The numbered .sql files of a folder, sorted by number. */
export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return files.sort().map((name, index) => {
    const version = Number.parseInt(name, 10);
    // The later ones would run without what it makes.
    if (version !== index + 1) throw new Error(`migration ${index + 1} is missing from ${folder}`);
    const sql = readFileSync(new URL(name, folder), 'utf8');
    const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
    return { version, name, sql, checksum };
  });
}

/** Migrations that are not those of this program may have made anything: to apply ours would destroy it. */
function refuseChangedMigrations(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): void {
  for (const [index, { version, name, checksum }] of applied.entries()) {
    if (version !== index + 1) throw new ChangedMigrationError(`its migration ${index + 1} is missing`);
    const own = migrations[index];
    if (own && (own.name !== name || own.checksum !== checksum))
      throw new ChangedMigrationError(`its migration ${name} is not the one of this version`);
  }
}

export interface MigrationPlan {
  readonly from: number;
  /** Less than `from` if this program cannot use the schema, which a newer one has migrated. */
  readonly to: number;
  /** Empty if the schema is up to date or newer than this program. */
  readonly pending: readonly Migration[];
  /** The names of the pending migrations. */
  readonly applied: readonly string[];
}

/** Throws if other migrations than those of this program were applied. They are sorted by number. */
export function planMigrations(
  folder: URL,
  from: number,
  recorded: readonly AppliedMigration[],
): MigrationPlan {
  const migrations = readMigrations(folder);
  refuseChangedMigrations(migrations, recorded);
  const latest = latestVersion(migrations);
  const pending = migrations.filter(({ version }) => version > from);
  const to = isNewerButUsable(latest, from, recorded) ? from : latest;
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

/** `0042_drop_notes_needs_0040.sql`: for programs whose schema version is at least 40. */
const NEEDS = /_needs_(\d{4})\.sql$/;

/**
 * A migration keeps what older programs use, so that they can run beside new ones during an upgrade, and again after a rollback.
 * One that cannot says in its name what it needs.
 */
function isNewerButUsable(own: number, found: number, recorded: readonly AppliedMigration[]): boolean {
  const newer = recorded.filter(({ version }) => version > own);
  const isKnown = newer.at(-1)?.version === found;
  return isKnown && newer.every(({ name }) => Number(NEEDS.exec(name)?.[1] ?? 0) <= own);
}

export const expectedVersion = (folder: URL): number => latestVersion(readMigrations(folder));

const latestVersion = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;
