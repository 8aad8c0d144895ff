/** Checks what the service needs beside the database: key, identity provider, Redis, clock and ports. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import type { StatusJson } from '@leadtap/contract';
import { type ExternalTokens, probeJwks } from '../../accounts/external-tokens.ts';
import { loadSigningKeys, SigningKeyError } from '../../accounts/signing-keys.ts';
import { type Config, defaultKeyFile, describeDatabase, describeRedis } from '../../config.ts';
import { toIso } from '../../lib/clock.ts';
import { plural } from '../../lib/formats.ts';
import { nearestExisting } from '../../lib/nearest-existing.ts';
import { innermostCode, messageOf, reasonOf } from '../../lib/system-error.ts';
import { type Address, probeAddresses } from '../../ops/listen.ts';
import type { ServerFacts } from '../../store/store.ts';
import { signingKeyHints } from '../failure.ts';
import { bracketed, readFrom } from '../running-service.ts';
import { isWritable } from './database.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

/** One instance on SQLite needs no Redis, so there is nothing to report. */
export async function checkRateLimits({ redisUrl }: Config, isShared: boolean): Promise<Finding[]> {
  const check = 'rate limits';
  if (redisUrl === undefined)
    return isShared
      ? [ok(check, 'each instance counts alone; several instances need LEADTAP_REDIS_URL')]
      : [];
  const place = describeRedis(redisUrl);
  try {
    // Loaded only here: the Redis driver takes longer to load than everything else.
    const { probeRedis } = await import('../../limits/redis/connection.ts');
    const { version } = await probeRedis(redisUrl);
    return [ok(check, `shared in ${place}, version ${version}`)];
  } catch (error) {
    const fix = 'Start Redis, or correct LEADTAP_REDIS_URL. Until then each instance counts alone.';
    return [warning(check, reasonOf(error, place), fix)];
  }
}

const KEY = 'signing key';
const OTHERS_MAY_READ = 0o077;
const SHARE_THE_KEY = [
  'Every instance, and every command that issues tokens, needs the same key.',
  'Set LEADTAP_SIGNING_KEY from your secret store, or set LEADTAP_SIGNING_KEY_FILE to a file that all of them have.',
];

export async function checkSigningKey(config: Config, cwd: string, isShared: boolean): Promise<Finding> {
  const { signingKey, database } = config;
  if ('secrets' in signingKey)
    return ok(KEY, `${plural(signingKey.secrets.length, 'key')} in LEADTAP_SIGNING_KEY`);
  const { file } = signingKey;
  // If several instances share the database, a key that one machine created for itself is not enough.
  const isLocalKey = isShared && file === defaultKeyFile(database, cwd);
  try {
    const keys = await loadSigningKeys(signingKey, { create: false });
    const { mode } = await stat(file);
    if (process.platform !== 'win32' && (mode & OTHERS_MAY_READ) !== 0)
      return failed(KEY, `other users of this machine may read ${file}`, `Run: chmod 600 ${file}`);
    if (isLocalKey) return warning(KEY, `only this machine has ${file}`, ...SHARE_THE_KEY);
    return ok(KEY, `${plural(keys.length, 'key')} in ${file}`);
  } catch (error) {
    if (!(error instanceof SigningKeyError)) return failed(KEY, reasonOf(error, file), `Check ${file}.`);
    if (error.reason === 'missing') return checkMissingKey(file, isLocalKey);
    return failed(KEY, reasonOf(error, file), ...signingKeyHints(error, file));
  }
}

/** A warning if the service can create the key file. */
async function checkMissingKey(file: string, isLocalKey: boolean): Promise<Finding> {
  const { path, isFolder } = nearestExisting(dirname(file));
  if (isFolder && (await isWritable(path))) {
    const fix = isLocalKey ? SHARE_THE_KEY : ['`leadtap serve` and `leadtap org apply` create it.'];
    return warning(KEY, `${file} does not exist yet`, ...fix);
  }
  const cause = Object.assign(new Error(), { code: isFolder ? 'EACCES' : 'ENOTDIR' });
  const error = new SigningKeyError('unwritable', 'the signing key file cannot be created', { cause });
  return failed(KEY, reasonOf(error, file), ...signingKeyHints(error, file));
}

export async function checkIdentityProvider(external: ExternalTokens): Promise<Finding> {
  const check = 'identity provider';
  const place = external.jwks.kind === 'file' ? external.jwks.file : external.jwks.url;
  const isPlainHttp = /^http:/.test(place) && !/^http:\/\/(localhost|127\.|\[::1\])/.test(place);
  try {
    const { keys } = await probeJwks(external);
    if (keys === 0) return failed(check, `there is no key at ${place}`, 'Check LEADTAP_JWKS_URL.');
    if (isPlainHttp)
      return warning(
        check,
        `${place} is fetched without encryption`,
        'Use https:. Without encryption, an attacker in the network can forge tokens.',
      );
    return ok(check, `${plural(keys, 'key')} at ${place}`);
  } catch (error) {
    return failed(check, reasonOf(error, place), 'Check LEADTAP_JWKS_URL and the connection to it.');
  }
}

/** Older than this program. */
const MIN_TIME = Date.UTC(2025, 0, 1);
/** More than a slow network can add to the difference of two correct clocks. */
const MAX_CLOCK_DIFFERENCE_MS = 5000;

/** The clock of the database server, if there is one, stamps leads. Tokens expire by the clock of this machine. */
export async function checkClock(
  now: number,
  { database, signingKey }: Config,
  server?: ServerFacts,
): Promise<Finding> {
  const fix = 'Set the clock of this machine.';
  if (now < MIN_TIME) return failed('clock', `it shows ${toIso(now)}, which is in the past`, fix);
  for (const source of [database, signingKey]) {
    const written = 'file' in source ? await stat(source.file).catch(() => undefined) : undefined;
    if (written && written.mtimeMs > now + MAX_CLOCK_DIFFERENCE_MS)
      return warning(
        'clock',
        `it shows ${toIso(now)}, which is before the last change of a file in the data folder`,
        fix,
      );
  }
  const differenceMs = server?.clockAheadMs ?? 0;
  const difference = `the clock of the database is ${Math.abs(differenceMs)} ms ${differenceMs < 0 ? 'behind' : 'ahead of'} the clock of this machine`;
  if (Math.abs(differenceMs) > MAX_CLOCK_DIFFERENCE_MS)
    return warning(
      'clock',
      difference,
      'Correct the wrong clock, and use NTP on both machines: leads get the time of the database, tokens expire by the time of this machine.',
    );
  return ok('clock', server ? `${toIso(now)}; ${difference}` : toIso(now));
}

export async function checkPort({ host, port }: Config): Promise<Finding> {
  const isLeadtap = async () =>
    (await readFrom({ host, port }, '/livez').catch(() => '')) === '{"status":"ok"}';
  const variables = { portVariable: 'LEADTAP_PORT', hostVariable: 'LEADTAP_HOST' };
  return checkAddress('port', { host, port }, variables, isLeadtap);
}

/** `instance`: the Leadtap that has this address. */
export async function checkMetricsPort(
  { metricsAddress, database }: Config,
  instance: StatusJson | undefined,
): Promise<Finding> {
  const check = 'metrics port';
  const variable = 'LEADTAP_METRICS_ADDRESS';
  if (metricsAddress === 'off') return ok(check, `${variable} is off`);
  const variables = { portVariable: variable, hostVariable: variable };
  const found = await checkAddress(check, metricsAddress, variables, async () => instance !== undefined);
  if (!instance || found.state !== 'ok') return found;
  const own = describeDatabase(database);
  if (instance.database.address === own) return ok(check, `${found.detail}, which serves this database`);
  return warning(
    check,
    `${found.detail}, which serves another database: ${instance.database.address}`,
    `These settings use ${own}. For the other database, run the command in the folder of that service, or set LEADTAP_DATABASE_URL.`,
    `To run both, set LEADTAP_PORT and ${variable} here to free ports.`,
  );
}

async function checkAddress(
  check: string,
  address: Address,
  { portVariable, hostVariable }: { readonly portVariable: string; readonly hostVariable: string },
  isLeadtap: () => Promise<boolean>,
): Promise<Finding> {
  const name = `${bracketed(address.host)}:${address.port}`;
  const code = await probeAddresses([address]).then(
    () => undefined,
    (error: unknown) => innermostCode(error) ?? messageOf(error),
  );
  if (code === undefined) return ok(check, address.port === 0 ? 'any free port' : `${name} is free`);
  if (code !== 'EADDRINUSE') {
    const fix = code === 'EACCES' ? `Choose another port in ${portVariable}.` : `Check ${hostVariable}.`;
    return failed(check, `this machine cannot listen on ${name} (${code})`, fix);
  }
  return (await isLeadtap())
    ? ok(check, `${name} is in use by a running Leadtap`)
    : failed(check, `${name} is in use by another program`, `Stop that program, or set ${portVariable}.`);
}
