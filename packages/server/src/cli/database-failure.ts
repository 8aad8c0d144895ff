import { type Config, describeDatabase, VARIABLES } from '../config.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { innermostCode, reasonOf } from '../system-error.ts';
import { Failure } from './failure.ts';
import { postgresHint } from './postgres-hints.ts';
import { sqliteHint } from './sqlite-hints.ts';

type Database = Config['database'] | undefined;

/**
 * What a store throws, as a failure that a person can mend. Never shows the password of the database. The setting is
 * where its address is given.
 */
export function databaseFailure(
  error: unknown,
  database: Database,
  setting: string = VARIABLES.databaseUrl.name,
): Failure | undefined {
  if (error instanceof SchemaVersionError) return schemaFailure(error, database);
  if (error instanceof StoreUnavailableError || error instanceof UnusableDatabaseError)
    return failureToReach(error, database, setting);
  return undefined;
}

export function unavailableFailure(
  error: StoreUnavailableError | UnusableDatabaseError,
  database: Database,
  ...furtherHints: string[]
): Failure {
  return failureToReach(error, database, VARIABLES.databaseUrl.name, ...furtherHints);
}

function failureToReach(
  error: Error,
  database: Database,
  setting: string,
  ...furtherHints: string[]
): Failure {
  const place = database && describeDatabase(database);
  const fixes = hintsOf(error, database, setting);
  return new Failure('unavailable', reasonOf(error, place), ...fixes, ...furtherHints);
}

function hintsOf(error: Error, database: Database, setting: string): string[] {
  const isUnusable = error instanceof UnusableDatabaseError;
  if (database === undefined) return [`Check ${setting}.`];
  if (database.kind === 'sqlite')
    return [
      isUnusable
        ? `Name another file in ${setting}, or put a backup in its place.`
        : sqliteHint(error, database, setting),
    ];
  const code = innermostCode(error);
  if (isUnusable && code === undefined) return [otherDatabase(setting)];
  const words = spoken(error.cause, code);
  return [
    ...words,
    PASSWORD_MISSING.test(words.join()) ? givePassword(setting) : postgresHint(code, database, setting),
  ];
}

/** The driver has no code for it. */
const PASSWORD_MISSING = /client password must be a/;
const givePassword = (setting: string): string =>
  `Write the password into ${setting}, or set PGPASSWORD, or use ~/.pgpass.`;

const otherDatabase = (setting: string): string =>
  `Name another database in ${setting}, or update the server if it is what is too old.`;
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** The words of the server, or of the driver where it has no code for them. Those of the system only repeat its code. */
function spoken(cause: unknown, code = ''): string[] {
  if (!(cause instanceof Error) || cause.message === '') return [];
  if (SQLSTATE.test(code) && !code.startsWith('E')) return [`PostgreSQL says: ${cause.message}`];
  return code === '' ? [`The driver says: ${cause.message}`] : [];
}

function schemaFailure({ found, expected }: SchemaVersionError, database: Database): Failure {
  if (found === 0 && database !== undefined) return missingDatabase(database);
  const place = database === undefined ? 'the database' : `the database (${describeDatabase(database)})`;
  if (found > expected)
    return new Failure(
      'unavailable',
      `${place} was made by a newer Leadtap: its schema is at version ${found}, this program knows version ${expected}`,
      'Update this Leadtap.',
    );
  return new Failure(
    'unavailable',
    `the schema of ${place} is at version ${found}, this program needs version ${expected}`,
    mendOldSchema(database),
  );
}

/** Most often the command runs in another folder, or a path is mistyped. */
const missingDatabase = (database: Config['database']): Failure =>
  database.kind === 'sqlite'
    ? new Failure(
        'unavailable',
        `there is no Leadtap database at ${database.file}`,
        'If there should be one, run this in the folder of the installation, or set LEADTAP_DATABASE_URL.',
        'To make a new one here, run `leadtap migrate`.',
      )
    : new Failure(
        'unavailable',
        `there is no schema leadtap in ${describeDatabase(database)}`,
        'If there should be one, correct LEADTAP_DATABASE_URL.',
        'To make a new one there, run `leadtap migrate` with a role that may create it.',
      );

const mendOldSchema = (database: Database): string =>
  database?.kind === 'postgres'
    ? 'Run `leadtap migrate` with the role that owns the schema, or set LEADTAP_AUTO_MIGRATE=true.'
    : 'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.';
