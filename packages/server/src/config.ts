/** Reads environment, `.env` and flags into one frozen `Config`, or throws every problem at once. No I/O. */
import { dirname, join, resolve } from 'node:path';
import { ConfigError, type ConfigSources, Settings } from './config/sources.ts';
import type { Database, JwksLocation } from './config/urls.ts';
import type { HostAndPort, LogLevel, TrustedProxies } from './config/values.ts';
import { VARIABLES } from './config/variables.ts';

export {
  ConfigError,
  type ConfigFlags,
  type ConfigProblem,
  type ConfigSources,
  describeProblem,
} from './config/sources.ts';
export {
  type Database,
  describeDatabase,
  describeRedis,
  type PostgresDatabase,
  type SqliteDatabase,
} from './config/urls.ts';
export { InvalidValueError, LOG_LEVELS, type LogLevel } from './config/values.ts';
export { VARIABLES } from './config/variables.ts';

export interface Config {
  readonly database: Database;
  /** Where instances share the rate limits. Without it each instance counts alone. May contain a password. */
  readonly redisUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  /** `''`, or a path such as `/api`. */
  readonly basePath: string;
  /** The whole `{base_url}` that clients use, without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly trustProxy: TrustedProxies;
  /** Secrets are base64. The first one signs, all of them verify. */
  readonly signingKey: { readonly secrets: readonly string[] } | { readonly file: string };
  readonly externalTokens:
    | { readonly jwks: JwksLocation; readonly issuer: string; readonly audience: string }
    | undefined;
  /** Requests that may wait for a lead. */
  readonly maxLongPolls: number;
  readonly metricsAddress: HostAndPort | 'off';
  /** Serve the web console. */
  readonly console: boolean;
  /** Accept leads over HTTP. */
  readonly intake: boolean;
  /** Accept their tokens in URLs, too. */
  readonly acceptsUrlTokens: boolean;
  /** Of times without an offset in leads that are sent or imported. */
  readonly timeZone: string;
  /** Hold requests that send leads and are refused. */
  readonly keepRefused: boolean;
  /** Record who polls and how far each has come. */
  /** Accept webhook subscriptions and send their events. */
  readonly hooks: boolean;
  /** Hosts that events may be sent to, besides those of the platforms. */
  readonly hookHosts: readonly string[];
  /** Where messages about problems are sent. A secret. */
  readonly alertUrl: string | undefined;
  /** Default: see `DEFAULT_SILENT_AFTER_MS`. */
  readonly silentAfterMs: number | undefined;
  readonly autoMigrate: boolean;
  readonly logLevel: LogLevel;
}

/** Null: webhooks are switched off. */
export const hookHostsOf = ({ hooks, hookHosts }: Config): readonly string[] | null =>
  hooks ? hookHosts : null;

/** Throws `ConfigError`. */
export function parseConfig(sources: ConfigSources): Config {
  const settings = new Settings(sources);
  const database = readDatabase(settings);
  const basePath = settings.readOptional(VARIABLES.basePath) ?? '';
  const intake = settings.read(VARIABLES.intake);
  const config: Config = {
    database,
    redisUrl: settings.readOptional(VARIABLES.redisUrl),
    host: settings.read(VARIABLES.host),
    port: settings.read(VARIABLES.port),
    basePath,
    publicUrl: readPublicUrl(settings, basePath),
    trustProxy: settings.read(VARIABLES.trustProxy),
    signingKey: readSigningKey(settings, defaultKeyFile(database, sources.cwd)),
    externalTokens: readExternalTokens(settings),
    maxLongPolls: settings.read(VARIABLES.maxLongPolls),
    metricsAddress: settings.read(VARIABLES.metricsAddress),
    console: settings.read(VARIABLES.console),
    intake: intake !== 'off',
    acceptsUrlTokens: intake === 'urls',
    timeZone: settings.read(VARIABLES.timeZone),
    keepRefused: settings.read(VARIABLES.keepRefused),
    hooks: settings.read(VARIABLES.hooks),
    hookHosts: settings.readOptional(VARIABLES.hookHosts) ?? [],
    alertUrl: settings.readOptional(VARIABLES.alertUrl),
    silentAfterMs: settings.readOptional(VARIABLES.silentAfter),
    autoMigrate: settings.read(VARIABLES.autoMigrate),
    logLevel: settings.read(VARIABLES.logLevel),
  };
  checkMetricsAddress(settings, config);
  if (settings.problems.length > 0) throw new ConfigError(settings.problems);
  return deepFreeze(config);
}

function readDatabase(settings: Settings): Database {
  const { databaseUrl, databaseConnections } = VARIABLES;
  const problemsBefore = settings.problems.length;
  const address = settings.read(databaseUrl);
  const connections = settings.read(databaseConnections);
  if (address.kind === 'postgres') return { ...address, connections };
  // Only if both values are valid: a mistyped address is one problem, not two.
  if (settings.isSet(databaseConnections) && settings.problems.length === problemsBefore)
    settings.addProblem(
      databaseConnections,
      'it has no effect without PostgreSQL',
      `Set ${databaseUrl.name} to a postgres:// address, or remove this variable.`,
    );
  return address;
}

/** The `{base_url}` by its configuration: that of clients, or where the service listens on this machine. */
export function serviceUrl({ publicUrl, host, port, basePath }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  const name = { '0.0.0.0': 'localhost', '::': 'localhost' }[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}${basePath}`;
}

/** In the folder of the SQLite file; with PostgreSQL in `./data`. */
export const defaultKeyFile = (database: Database, cwd: string): string =>
  database.kind === 'sqlite' ? join(dirname(database.file), 'signing.key') : resolve(cwd, 'data/signing.key');

function readPublicUrl(settings: Settings, basePath: string): string | undefined {
  const url = settings.readOptional(VARIABLES.publicUrl);
  return url !== undefined && new URL(url).pathname === '/' ? `${url}${basePath}` : url;
}

function readSigningKey(settings: Settings, defaultFile: string): Config['signingKey'] {
  const { signingKey, signingKeyFile } = VARIABLES;
  const secrets = settings.readOptional(signingKey);
  const file = settings.readOptional(signingKeyFile);
  if (settings.isSet(signingKey) && settings.isSet(signingKeyFile))
    settings.addProblem(signingKeyFile, `${signingKey.name} is set too`, 'Keep only one of them.');
  return secrets === undefined ? { file: file ?? defaultFile } : { secrets };
}

function readExternalTokens(settings: Settings): Config['externalTokens'] {
  const { jwksUrl, tokenIssuer, tokenAudience } = VARIABLES;
  const jwks = settings.readOptional(jwksUrl);
  const issuer = settings.readOptional(tokenIssuer);
  const audience = settings.readOptional(tokenAudience);
  for (const variable of [tokenIssuer, tokenAudience]) {
    if (settings.isSet(jwksUrl) && !settings.isSet(variable))
      settings.addProblem(variable, `${jwksUrl.name} needs it`, `Set it, or remove ${jwksUrl.name}.`);
    if (!settings.isSet(jwksUrl) && settings.isSet(variable))
      settings.addProblem(
        variable,
        `it has no effect without ${jwksUrl.name}`,
        `Set ${jwksUrl.name}, or remove this variable.`,
      );
  }
  return jwks && issuer && audience ? { jwks, issuer, audience } : undefined;
}

/** Metrics need no token and show internal figures, so they must not be on the public address. */
function checkMetricsAddress(settings: Settings, { host, port, metricsAddress: metrics }: Config): void {
  if (metrics === 'off' || metrics.port !== port || port === 0) return;
  const hosts = [host, metrics.host];
  if (host !== metrics.host && !hosts.includes('0.0.0.0') && !hosts.includes('::')) return;
  settings.addProblem(
    VARIABLES.metricsAddress,
    'it is the same as the public address',
    'Choose another port, or write off.',
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
