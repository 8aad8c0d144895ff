import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { SigningKeyError } from '../accounts/own-tokens.ts';
import type { Config } from '../config.ts';
import { ListenError } from '../ops/listen-error.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { Failure } from './failure.ts';

const SEE_DOCTOR = 'Run `leadtap doctor` to see what is wrong and how to mend it.';

/** What the inner layers throw, as a failure that a person can mend; everything else stays itself. */
export function asFailure(error: unknown, config?: Config): unknown {
  const file = config ? ` (${config.database.file})` : '';
  if (error instanceof SchemaVersionError) return schemaFailure(error, file);
  if (error instanceof StoreUnavailableError)
    return new Failure('unavailable', `${error.message}${file}`, SEE_DOCTOR);
  if (error instanceof UnusableDatabaseError)
    return new Failure(
      'unavailable',
      `${error.message}${file}`,
      'Name another file in LEADTAP_DATABASE_URL, or put a backup in its place.',
    );
  if (error instanceof SigningKeyError)
    return new Failure('configuration', `${error.message}${keyFile(config)}`, SEE_DOCTOR);
  if (error instanceof JwksUnavailableError) return new Failure('unavailable', error.message, SEE_DOCTOR);
  if (error instanceof ListenError) return listenFailure(error);
  return error;
}

function listenFailure(error: ListenError): Failure {
  const reason = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
  const why = { EADDRINUSE: ': something else listens there', EACCES: ': it is not allowed' }[reason] ?? '';
  return new Failure(
    'unavailable',
    `${error.message}${why}`,
    'Choose another port with --port or LEADTAP_PORT, another metrics address with LEADTAP_METRICS_ADDRESS (or `off`).',
  );
}

function schemaFailure({ found, expected }: SchemaVersionError, file: string): Failure {
  if (found > expected)
    return new Failure(
      'unavailable',
      `the database${file} was made by a newer Leadtap: its schema is at version ${found}, this program knows version ${expected}`,
      'Update this Leadtap.',
    );
  return new Failure(
    'unavailable',
    `the schema of the database${file} is at version ${found}, this program needs version ${expected}`,
    'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.',
  );
}

const keyFile = (config: Config | undefined): string =>
  config && 'file' in config.signingKey ? ` (${config.signingKey.file})` : '';
