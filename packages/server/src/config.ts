/** Environment, `.env` and flags in; one frozen `Config` out, or every problem at once. No I/O. */
import { dirname, join, resolve } from 'node:path';
import type { ExternalTokens } from './accounts/external-tokens.ts';
import type { SigningKeySource } from './accounts/signing-keys.ts';
import type { LogLevel } from './config/choices.ts';
import type { Database } from './config/database.ts';
import { ConfigProblems } from './config/problems.ts';
import { type ConfigSources, Settings } from './config/settings.ts';
import { VARIABLES } from './config/variables.ts';

import type { Address, TrustProxy } from './ops/addresses.ts';

export { LOG_LEVELS, type LogLevel } from './config/choices.ts';
export {
  type Database,
  describeDatabase,
  type PostgresDatabase,
  type SqliteDatabase,
} from './config/database.ts';
export { type ConfigProblem, ConfigProblems, describeProblem } from './config/problems.ts';
export { describeRedis } from './config/redis-url.ts';
export type { ConfigFlags, ConfigSources } from './config/settings.ts';
export { VARIABLES } from './config/variables.ts';

export interface Config {
  readonly database: Database;
  /** Where the instances count the rate limits together; each counts alone without it. May hold a password. */
  readonly redisUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  /** `''`, or a path such as `/api`. */
  readonly basePath: string;
  /** The whole `{base_url}` as clients see it, without a slash at its end. */
  readonly publicUrl: string | undefined;
  readonly trustProxy: TrustProxy;
  /** Secrets are base64; the first signs, all verify. */
  readonly signingKey: SigningKeySource;
  readonly externalTokens: ExternalTokens | undefined;
  readonly metricsAddress: Address | 'off';
  readonly autoMigrate: boolean;
  readonly logLevel: LogLevel;
}

/** Throws `ConfigProblems`. */
export function parseConfig(sources: ConfigSources): Config {
  const settings = new Settings(sources);
  const config = readConfig(settings, sources.cwd);
  refuseSharedAddress(settings, config);
  if (settings.problems.length > 0) throw new ConfigProblems(settings.problems);
  return deepFreeze(config);
}

function readConfig(settings: Settings, cwd: string): Config {
  const database = readDatabase(settings);
  const basePath = settings.readOptional(VARIABLES.basePath) ?? '';
  return {
    database,
    redisUrl: settings.readOptional(VARIABLES.redisUrl),
    host: settings.read(VARIABLES.host),
    port: settings.read(VARIABLES.port),
    basePath,
    publicUrl: readPublicUrl(settings, basePath),
    trustProxy: settings.read(VARIABLES.trustProxy),
    signingKey: readSigningKey(settings, keyFileUnlessGiven(database, cwd)),
    externalTokens: readExternalTokens(settings),
    metricsAddress: settings.read(VARIABLES.metricsAddress),
    autoMigrate: settings.read(VARIABLES.autoMigrate),
    logLevel: settings.read(VARIABLES.logLevel),
  };
}

function readDatabase(settings: Settings): Database {
  const { databaseUrl, databaseConnections } = VARIABLES;
  const before = settings.problems.length;
  const address = settings.read(databaseUrl);
  const connections = settings.read(databaseConnections);
  if (address.kind === 'postgres') return { ...address, connections };
  // Only where both are right by themselves: a mistyped address is one problem, not two.
  if (settings.isSet(databaseConnections) && settings.problems.length === before)
    settings.addProblem(
      databaseConnections,
      'it does nothing without PostgreSQL',
      `Set ${databaseUrl.name} to a postgres:// address or remove this.`,
    );
  return address;
}

/** Beside the SQLite file, or where that would be. */
export const keyFileUnlessGiven = (database: Database, cwd: string): string =>
  database.kind === 'sqlite' ? join(dirname(database.file), 'signing.key') : resolve(cwd, 'data/signing.key');

function readPublicUrl(settings: Settings, basePath: string): string | undefined {
  const url = settings.readOptional(VARIABLES.publicUrl);
  return url !== undefined && new URL(url).pathname === '/' ? `${url}${basePath}` : url;
}

function readSigningKey(settings: Settings, unlessGiven: string): SigningKeySource {
  const { signingKey, signingKeyFile } = VARIABLES;
  const secrets = settings.readOptional(signingKey);
  const file = settings.readOptional(signingKeyFile);
  if (settings.isSet(signingKey) && settings.isSet(signingKeyFile))
    settings.addProblem(signingKeyFile, `${signingKey.name} is given too`, 'Keep only one of them.');
  return secrets === undefined ? { file: file ?? unlessGiven } : { secrets };
}

function readExternalTokens(settings: Settings): ExternalTokens | undefined {
  const { jwksUrl, tokenIssuer, tokenAudience } = VARIABLES;
  const jwks = settings.readOptional(jwksUrl);
  const issuer = settings.readOptional(tokenIssuer);
  const audience = settings.readOptional(tokenAudience);
  const wanted = settings.isSet(jwksUrl);
  const claims = [
    { variable: tokenIssuer, claim: 'iss' },
    { variable: tokenAudience, claim: 'aud' },
  ];
  for (const { variable, claim } of claims) {
    if (wanted && !settings.isSet(variable))
      settings.addProblem(
        variable,
        `${jwksUrl.name} needs it`,
        `Write the \`${claim}\` that tokens of the identity provider must have.`,
      );
    if (!wanted && settings.isSet(variable))
      settings.addProblem(
        variable,
        `it does nothing without ${jwksUrl.name}`,
        `Set ${jwksUrl.name} or remove this.`,
      );
  }
  return jwks && issuer && audience ? { jwks, issuer, audience } : undefined;
}

/** Metrics tell about the inside and have no token, so they never share the public address. */
function refuseSharedAddress(settings: Settings, { host, port, metricsAddress: metrics }: Config): void {
  if (metrics === 'off' || metrics.port !== port || port === 0) return;
  const hosts = [host, metrics.host];
  if (host !== metrics.host && !hosts.includes('0.0.0.0') && !hosts.includes('::')) return;
  settings.addProblem(
    VARIABLES.metricsAddress,
    'it is the public address',
    'Give it another port, or write off.',
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
