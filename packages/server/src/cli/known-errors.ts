import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { SigningKeyError } from '../accounts/signing-keys.ts';
import type { Config } from '../config.ts';
import { ListenError } from '../ops/listen-error.ts';
import { innermostCode, reasonOf } from '../system-error.ts';
import { databaseFailure } from './database-failure.ts';
import { Failure } from './failure.ts';
import { signingKeyHints } from './signing-key-failure.ts';

/** What the inner layers throw, as a failure that a person can fix; everything else stays itself. */
export function asFailure(error: unknown, config?: Config): unknown {
  const failure = failureOf(error, config);
  return failure === undefined ? error : failure.causedBy(error);
}

function failureOf(error: unknown, config: Config | undefined): Failure | undefined {
  if (error instanceof SigningKeyError) return keyFailure(error, config);
  if (error instanceof JwksUnavailableError) return jwksFailure(error, config);
  if (error instanceof ListenError) return listenFailure(error, config);
  return databaseFailure(error, config?.database);
}

function keyFailure(error: SigningKeyError, config: Config | undefined): Failure {
  const file = config && 'file' in config.signingKey ? config.signingKey.file : '';
  return new Failure('unavailable', reasonOf(error, file), ...signingKeyHints(error, file));
}

/** Only a file is read at the start: an address is asked when a token comes. */
function jwksFailure(error: JwksUnavailableError, config: Config | undefined): Failure {
  const jwks = config?.externalTokens?.jwks;
  const file = jwks?.kind === 'file' ? jwks.file : '';
  return new Failure(
    'unavailable',
    reasonOf(error, file),
    'Correct LEADTAP_JWKS_URL, or the file that it names.',
  );
}

function listenFailure(error: ListenError, config: Config | undefined): Failure {
  const { host, port } = error.address;
  const metrics = config?.metricsAddress;
  const isMetrics = typeof metrics === 'object' && metrics.host === host && metrics.port === port;
  const code = innermostCode(error) ?? '';
  const { why = '', isHost = false } = LISTEN_REASONS[code] ?? {};
  return new Failure(
    'unavailable',
    `${error.message}${why}`,
    ...(code === 'EADDRINUSE' ? [RUNS_ALREADY] : []),
    isMetrics ? METRICS : isHost ? HOST : PORT,
  );
}

const RUNS_ALREADY = 'Perhaps Leadtap runs already. If so, use that one, or stop it first.';
const METRICS = 'Choose another address with LEADTAP_METRICS_ADDRESS, or write `off`.';
const HOST =
  'Choose an address of this machine with --host or LEADTAP_HOST, such as 127.0.0.1; 0.0.0.0 is all of them.';
const PORT = 'Choose another port with --port or LEADTAP_PORT.';

const LISTEN_REASONS: Readonly<Record<string, { why: string; isHost?: true }>> = {
  EADDRINUSE: { why: ': another program listens there' },
  EACCES: { why: ': this user may not use the port; most systems keep those below 1024 for root' },
  EADDRNOTAVAIL: { why: ': this machine does not have that address', isHost: true },
  ENOTFOUND: { why: ': the name is unknown', isHost: true },
  EAI_AGAIN: { why: ': the name cannot be looked up', isHost: true },
  EAFNOSUPPORT: { why: ': this machine has no IPv6', isHost: true },
};
