/** Explains errors of a database, with what to do. No message shows the password of the database. */
import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type Database,
  describeDatabase,
  type PostgresDatabase,
  type SqliteDatabase,
  VARIABLES,
} from '../config.ts';
import { resultCode } from '../store/sqlite-result-code.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { innermostCode, reasonOf } from '../system-error.ts';

export interface Explanation {
  readonly message: string;
  /** What to do, a sentence each. */
  readonly fix: readonly string[];
}

/** What differs between the kinds of databases. */
interface DatabaseHints {
  /** The database or its schema does not exist. */
  readonly missing: Explanation;
  readonly updateSchema: string;
  /** The database exists, but it is not a database of Leadtap, or it is damaged. */
  readonly unusable: (error: Error) => readonly string[];
  readonly unavailable: (error: Error) => readonly string[];
}

/** The setting is where the address was given: a variable or a flag. */
const hintsFor = (database: Database, setting: string): DatabaseHints =>
  database.kind === 'sqlite' ? sqliteHints(database, setting) : postgresHints(database, setting);

/** Undefined for an error that is not about the database. */
export function explainDatabaseError(
  error: unknown,
  database: Database | undefined,
  setting: string = VARIABLES.databaseUrl.name,
): Explanation | undefined {
  const hints = database && hintsFor(database, setting);
  const place = database && describeDatabase(database);
  if (error instanceof SchemaVersionError) return explainSchemaVersion(error, place, hints);
  if (error instanceof UnusableDatabaseError)
    return { message: reasonOf(error, place), fix: hints?.unusable(error) ?? [`Check ${setting}.`] };
  if (error instanceof StoreUnavailableError)
    return { message: reasonOf(error, place), fix: hints?.unavailable(error) ?? [`Check ${setting}.`] };
  return undefined;
}

function explainSchemaVersion(
  { found, expected }: SchemaVersionError,
  place: string | undefined,
  hints: DatabaseHints | undefined,
): Explanation {
  if (found === 0 && hints) return hints.missing;
  const database = place === undefined ? 'the database' : `the database (${place})`;
  if (found > expected)
    return {
      message: `a newer Leadtap created ${database}: its schema has version ${found}, this program supports version ${expected}`,
      fix: ['Update this Leadtap.'],
    };
  return {
    message: `the schema of ${database} has version ${found}, this program needs version ${expected}`,
    fix: [hints?.updateSchema ?? 'Run `leadtap migrate`.'],
  };
}

export interface ExistingPath {
  readonly path: string;
  readonly isFolder: boolean;
}

/** The path, or its nearest parent that exists: that is where permissions or space are missing. */
export function nearestExisting(path: string): ExistingPath {
  const found = tryStat(path);
  if (found !== undefined) return { path, isFolder: found.isDirectory() };
  const parent = dirname(path);
  return parent === path ? { path, isFolder: false } : nearestExisting(parent);
}

/** A path without access counts as missing: the permission is missing in a parent folder. */
function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function sqliteHints({ file }: SqliteDatabase, setting: string): DatabaseHints {
  return {
    missing: {
      message: `there is no Leadtap database at ${file}`,
      fix: [
        'If you expected one, run this command in the folder of the installation, or set LEADTAP_DATABASE_URL.',
        'To create a new one here, run `leadtap migrate`.',
      ],
    },
    updateSchema: 'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.',
    unusable: () => [`Name another file in ${setting}, or restore a backup.`],
    unavailable: (error) => [
      sqliteHint(innermostCode(error) ?? String(resultCode(error.cause)), file, setting),
    ],
  };
}

/** Codes of the operating system, and SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const PERMISSION_CODES = ['EACCES', 'EPERM', 'EROFS', '8', '14'];
const PATH_CODES = ['ENOTDIR', 'EEXIST', 'EISDIR', 'ENOENT', 'ENAMETOOLONG'];
const DISK_FULL_CODES = ['ENOSPC', 'EDQUOT', '13'];
const LOCK_CODES = ['5', '6', '15'];
const DISK_ERROR_CODE = '10';

function sqliteHint(code: string, file: string, setting: string): string {
  const folder = nearestExisting(dirname(file)).path;
  if (PERMISSION_CODES.includes(code))
    return nearestExisting(file).path === file
      ? `Allow this user to read and write ${file} and its folder.`
      : `Allow this user to write to ${folder}.`;
  if (PATH_CODES.includes(code)) return `Correct the path in ${setting}.`;
  if (DISK_FULL_CODES.includes(code))
    return `Free some space on the disk of ${folder}, then run the same command again.`;
  if (LOCK_CODES.includes(code))
    return 'Wait until the other program has finished, or stop it, then run the same command again.';
  if (code === DISK_ERROR_CODE)
    return `Check the disk of ${folder}: its free space, and the log of the system.`;
  return `Check ${setting}, and the file that it names.`;
}

const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
/** The driver has no code for this error. */
const PASSWORD_MISSING = /client password must be a/;

function postgresHints(database: PostgresDatabase, setting: string): DatabaseHints {
  const unavailable = (error: Error): string[] => {
    const code = innermostCode(error) ?? '';
    const message = error.cause instanceof Error ? error.cause.message : '';
    if (PASSWORD_MISSING.test(message))
      return [
        `The driver says: ${message}`,
        `Write the password into ${setting}, or set PGPASSWORD, or use ~/.pgpass.`,
      ];
    const hint = postgresHint(code, database, setting);
    if (message === '') return [hint];
    if (SQLSTATE.test(code)) return [`PostgreSQL says: ${message}`, hint];
    // The message of a system error only repeats its code.
    return code === '' ? [`The driver says: ${message}`, hint] : [hint];
  };
  return {
    missing: {
      message: `there is no schema leadtap in ${describeDatabase(database)}`,
      fix: [
        'If you expected one, correct LEADTAP_DATABASE_URL.',
        'To create a new one there, run `leadtap migrate` with a role that may create it.',
      ],
    },
    updateSchema:
      'Run `leadtap migrate` with the role that owns the schema, or set LEADTAP_AUTO_MIGRATE=true.',
    unusable: (error) =>
      innermostCode(error) === undefined
        ? [`Name another database in ${setting}, or update the server if it is too old.`]
        : unavailable(error),
    unavailable,
  };
}

interface HintParts {
  readonly setting: string;
  readonly user: string;
  readonly database: string;
}

type Hint = string | ((parts: HintParts) => string);

const UNREACHABLE: Hint = ({ setting }) =>
  `Check the host in ${setting}, and that no firewall blocks the connection from this machine.`;
const UNKNOWN_HOST: Hint = ({ setting }) =>
  `Correct the host in ${setting}, or the DNS settings of this machine.`;
const UNTRUSTED: Hint = ({ setting }) =>
  `Add sslrootcert=FILE to ${setting}, with the certificate of the authority that signed it.`;
const NOT_READY = 'Try again when PostgreSQL is ready. If the error stays, read the log of PostgreSQL.';
const BUSY =
  'Try again. If the error stays, pg_stat_activity and pg_locks show which program holds the lock.';

/** By the code of the system or of TLS, the SQLSTATE, or its first two characters (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const POSTGRES_HINTS: Readonly<Record<string, Hint>> = {
  ECONNREFUSED: ({ setting }) => `Start PostgreSQL, or correct host and port in ${setting}.`,
  ENOENT: ({ setting }) => `Correct the path in ${setting}. If it is the path of a socket, start PostgreSQL.`,
  EACCES: ({ setting }) => `Allow this user to use the socket or the file that ${setting} names.`,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ECONNRESET: NOT_READY,

  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'Renew the certificate of PostgreSQL.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Write the host as its certificate names it, or use sslmode=verify-ca with your own authority in sslrootcert.',

  '28P01': ({ setting }) =>
    `Correct user and password in ${setting}. docs/configuration.md shows how to encode them.`,
  '28000': ({ user, setting }) =>
    `Correct the user in ${setting}, or allow ${user} to connect from this machine in pg_hba.conf.`,
  '3D000': ({ user, database }) =>
    `Run: createdb --owner=${user} --encoding=UTF8 --template=template0 ${database}`,
  '42501': ({ user, database }) =>
    `To allow ${user} to migrate, run: GRANT CREATE ON DATABASE ${database} TO ${user}. To allow it only to serve, run \`leadtap migrate\` as another role, then GRANT leadtap_service TO ${user}, and set LEADTAP_AUTO_MIGRATE=false here. See docs/postgresql.md.`,
  '53300':
    'Lower LEADTAP_DATABASE_CONNECTIONS on each instance, raise max_connections of PostgreSQL, or use PgBouncer.',
  '53100': 'Free some space on the disk of PostgreSQL.',
  '08': NOT_READY,
  '57': NOT_READY,
  '57014': BUSY,
  '55P03': BUSY,
  LT001: 'Rename that trigger so that its name sorts earlier: ALTER TRIGGER … ON leadtap.leads RENAME TO …',
  '0A': 'Update PostgreSQL to version 14 or later.',
  '25000': ({ user }) => `Run: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
  '25006': ({ setting }) =>
    `Name the primary in ${setting}: a standby cannot store leads and does not have all of them.`,
};

const OTHER: Hint = ({ setting }) => `Check ${setting} and the connection to PostgreSQL, and read its log.`;

function postgresHint(code: string, { url }: PostgresDatabase, setting: string): string {
  const hint = POSTGRES_HINTS[code] ?? POSTGRES_HINTS[code.slice(0, 2)] ?? OTHER;
  if (typeof hint === 'string') return hint;
  const { username, pathname } = new URL(url);
  const user = username === '' ? 'your_role' : decodeURIComponent(username);
  const database = decodeURIComponent(pathname.slice(1));
  return hint({ user: quoteName(user), database: quoteName(database), setting });
}

/** Quotes a name for SQL and for a shell. */
const quoteName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`);
