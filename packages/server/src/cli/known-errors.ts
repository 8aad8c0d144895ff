import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { SigningKeyError } from '../accounts/own-tokens.ts';
import type { Config } from '../config.ts';
import { ListenError } from '../ops/listen-error.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { reasonOf, systemCode } from '../system-error.ts';
import { Failure } from './failure.ts';

const SEE_DOCTOR = 'Run `leadtap doctor` to see what is wrong and how to mend it.';

/** What the inner layers throw, as a failure that a person can mend; everything else stays itself. */
export function asFailure(error: unknown, config?: Config): unknown {
  const failure = failureOf(error, config);
  return failure === undefined ? error : failure.causedBy(error);
}

function failureOf(error: unknown, config: Config | undefined): Failure | undefined {
  const file = config?.database.file;
  if (error instanceof SchemaVersionError) return schemaFailure(error, file);
  if (error instanceof StoreUnavailableError)
    return new Failure('unavailable', reasonOf(error, file), SEE_DOCTOR);
  if (error instanceof UnusableDatabaseError)
    return new Failure(
      'unavailable',
      reasonOf(error, file),
      'Name another file in LEADTAP_DATABASE_URL, or put a backup in its place.',
    );
  if (error instanceof SigningKeyError)
    return new Failure('configuration', reasonOf(error, keyFile(config)), SEE_DOCTOR);
  if (error instanceof JwksUnavailableError) return new Failure('unavailable', reasonOf(error), SEE_DOCTOR);
  if (error instanceof ListenError) return listenFailure(error);
  return undefined;
}

function listenFailure(error: ListenError): Failure {
  const reason = systemCode(error.cause) ?? '';
  const why = { EADDRINUSE: ': something else listens there', EACCES: ': it is not allowed' }[reason] ?? '';
  return new Failure(
    'unavailable',
    `${error.message}${why}`,
    'Choose another port with --port or LEADTAP_PORT, another metrics address with LEADTAP_METRICS_ADDRESS (or `off`).',
  );
}

function schemaFailure({ found, expected }: SchemaVersionError, file: string | undefined): Failure {
  const database = file === undefined ? 'the database' : `the database (${file})`;
  if (found > expected)
    return new Failure(
      'unavailable',
      `${database} was made by a newer Leadtap: its schema is at version ${found}, this program knows version ${expected}`,
      'Update this Leadtap.',
    );
  return new Failure(
    'unavailable',
    `the schema of ${database} is at version ${found}, this program needs version ${expected}`,
    'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.',
  );
}

const keyFile = (config: Config | undefined): string | undefined =>
  config && 'file' in config.signingKey ? config.signingKey.file : undefined;
