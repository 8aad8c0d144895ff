/** Turns errors of the inner layers into failures that a person can fix. */
import { dirname } from 'node:path';
import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { SigningKeyError } from '../accounts/signing-keys.ts';
import { type Config, type Database, describeDatabase, VARIABLES } from '../config.ts';
import { nearestExisting } from '../lib/nearest-existing.ts';
import { innermostCode, reasonOf, systemCode } from '../lib/system-error.ts';
import { type Engine, engineOf } from '../open-store.ts';
import { ListenError } from '../ops/listen.ts';
import {
  OtherSchemaError,
  SchemaVersionError,
  StoreUnavailableError,
  UnusableDatabaseError,
} from '../sql/errors.ts';
import { Failure } from './exit.ts';

/** An input file that cannot be opened or read. */
export function fileFailure(file: string, error: unknown): Failure {
  const fix = 'Check the path and your permission to read it, or write - for standard input.';
  if (systemCode(error) === 'ENOENT') return new Failure('not-found', `there is no file ${file}`, fix);
  return new Failure('bad-input', `${file} cannot be read`, fix).causedBy(error);
}

/** Turns an error of the inner layers into a failure that a person can fix. Returns any other error unchanged. */
export function asFailure(error: unknown, config?: Config): unknown {
  return toFailure(error, config)?.causedBy(error) ?? error;
}

function toFailure(error: unknown, config: Config | undefined): Failure | undefined {
  if (error instanceof Error && 'syscall' in error && error.syscall === 'write' && isDiskFull(error))
    return new Failure('unavailable', reasonOf(error), 'Free some space on the disk of the output.');
  if (error instanceof ListenError) return listenFailure(error, config);
  if (error instanceof SigningKeyError) {
    const file = config && 'file' in config.signingKey ? config.signingKey.file : '';
    return new Failure('unavailable', reasonOf(error, file), ...signingKeyHints(error, file));
  }
  if (error instanceof JwksUnavailableError) {
    // Only a file is read at the start. An address is fetched when a token arrives.
    const jwks = config?.externalTokens?.jwks;
    const reason = reasonOf(error, jwks?.kind === 'file' ? jwks.file : '');
    return new Failure('unavailable', reason, 'Correct LEADTAP_JWKS_URL, or the file that it names.');
  }
  return databaseFailure(error, config?.database);
}

/**
 * Undefined for an error that is not about the database. The setting is where its address was given. No message shows the
 * password of the database.
 */
export function databaseFailure(
  error: unknown,
  database: Database | undefined,
  setting: string = VARIABLES.databaseUrl.name,
): Failure | undefined {
  const engine = database && engineOf(database);
  const place = database && describeDatabase(database);
  if (error instanceof SchemaVersionError) return schemaFailure(error, place, engine);
  if (error instanceof OtherSchemaError) return otherSchemaFailure(place, setting);
  if (error instanceof StoreUnavailableError || error instanceof UnusableDatabaseError)
    return new Failure(
      'unavailable',
      reasonOf(error, place),
      ...(engine?.hints(error, setting) ?? [`Check ${setting}.`]),
    );
  return undefined;
}

function schemaFailure(
  { found, expected }: SchemaVersionError,
  place: string | undefined,
  engine: Engine | undefined,
): Failure {
  if (found === 0 && engine) return new Failure('unavailable', engine.missing.message, ...engine.missing.fix);
  const database = place === undefined ? 'the database' : `the database (${place})`;
  if (found > expected)
    return new Failure(
      'unavailable',
      `a newer Leadtap has updated ${database}: its schema has version ${found}, this program supports version ${expected}. Nothing was changed.`,
      'Update this Leadtap.',
      'To stay at this version, stop the service and restore the backup that was made before the update. With SQLite, also remove the files -wal and -shm of the database.',
    );
  return new Failure(
    'unavailable',
    `the schema of ${database} has version ${found}, this program needs version ${expected}`,
    engine?.oldSchemaFix ?? 'Run `leadtap migrate`.',
  );
}

const otherSchemaFailure = (place: string | undefined, setting: string): Failure =>
  new Failure(
    'unavailable',
    `another version of Leadtap made the database${place === undefined ? '' : ` (${place})`}. Nothing was changed.`,
    `Run \`leadtap org export\` and \`leadtap leads export\` of the version that made it, name a new database in ${setting}, and run \`leadtap org apply\` and \`leadtap leads import --historical\` of this one.`,
  );

const NO_SPACE = ['ENOSPC', 'EDQUOT'];
const isDiskFull = (error: unknown): boolean => NO_SPACE.includes(systemCode(error) ?? '');
const INVALID_PATH = ['ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'];

/** What to do about a signing key file that cannot be used. */
export function signingKeyHints({ reason, cause }: SigningKeyError, file: string): string[] {
  const code = systemCode(cause) ?? '';
  if (INVALID_PATH.includes(code)) return [`Correct LEADTAP_SIGNING_KEY_FILE: ${file} cannot be a file.`];
  switch (reason) {
    case 'missing':
      return [
        'A token must be signed with the key of the service. Run this command in the folder of the service, or set LEADTAP_SIGNING_KEY_FILE or LEADTAP_SIGNING_KEY.',
        'In a new installation, `leadtap org apply` and `leadtap serve` create the key.',
      ];
    case 'unreadable':
      return [`Allow this user to read ${file}.`];
    case 'unwritable': {
      const folder = nearestExisting(dirname(file)).path;
      return isDiskFull(cause)
        ? [`Free some space on the disk of ${folder}.`]
        : [`Allow this user to write to ${folder}, or set LEADTAP_SIGNING_KEY_FILE to another path.`];
    }
    case 'invalid':
      return [
        'Restore the file from a backup. Then the tokens that you have issued stay valid.',
        'If you have no backup, remove the file. The next start creates a new key, and you must issue every token again.',
      ];
  }
}

const METRICS_FIX = 'Choose another address with LEADTAP_METRICS_ADDRESS, or write `off`.';
const HOST_FIX =
  'Choose an address of this machine with --host or LEADTAP_HOST, such as 127.0.0.1. 0.0.0.0 means all of them.';
const PORT_FIX = 'Choose another port with --port or LEADTAP_PORT.';

const LISTEN_REASONS: Readonly<Record<string, { reason: string; fix: string }>> = {
  EADDRINUSE: { reason: ': another program listens there', fix: PORT_FIX },
  EACCES: {
    reason: ': this user may not use the port; most systems reserve ports below 1024 for root',
    fix: PORT_FIX,
  },
  EADDRNOTAVAIL: { reason: ': this machine does not have that address', fix: HOST_FIX },
  ENOTFOUND: { reason: ': the host name is unknown', fix: HOST_FIX },
  EAI_AGAIN: { reason: ': the host name cannot be resolved', fix: HOST_FIX },
  EAFNOSUPPORT: { reason: ': this machine has no IPv6', fix: HOST_FIX },
};

function listenFailure(error: ListenError, config: Config | undefined): Failure {
  const { host, port } = error.address;
  const metrics = config?.metricsAddress;
  const isMetrics = typeof metrics === 'object' && metrics.host === host && metrics.port === port;
  const code = innermostCode(error) ?? '';
  const { reason = '', fix = PORT_FIX } = LISTEN_REASONS[code] ?? {};
  return new Failure(
    'unavailable',
    `${error.message}${reason}`,
    ...(code === 'EADDRINUSE' ? ['If Leadtap is already running, use that instance, or stop it first.'] : []),
    isMetrics ? METRICS_FIX : fix,
  );
}
