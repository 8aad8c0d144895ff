import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { SigningKeyError } from '../accounts/own-tokens.ts';
import type { Config } from '../config.ts';
import { ListenError } from '../ops/listen-error.ts';
import { reasonOf, systemCode } from '../system-error.ts';
import { databaseFailure, SEE_DOCTOR } from './database-failure.ts';
import { Failure } from './failure.ts';

/** What the inner layers throw, as a failure that a person can mend; everything else stays itself. */
export function asFailure(error: unknown, config?: Config): unknown {
  const failure = failureOf(error, config);
  return failure === undefined ? error : failure.causedBy(error);
}

function failureOf(error: unknown, config: Config | undefined): Failure | undefined {
  if (error instanceof SigningKeyError)
    return new Failure('configuration', reasonOf(error, keyFile(config)), SEE_DOCTOR);
  if (error instanceof JwksUnavailableError) return new Failure('unavailable', reasonOf(error), SEE_DOCTOR);
  if (error instanceof ListenError) return listenFailure(error);
  return databaseFailure(error, config?.database);
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

const keyFile = (config: Config | undefined): string | undefined =>
  config && 'file' in config.signingKey ? config.signingKey.file : undefined;
