import {
  parseBasePath,
  parseHost,
  parseMetricsAddress,
  parsePort,
  parsePublicUrl,
  parseTrustProxy,
} from './addresses.ts';
import { parseAnyText, parseBoolean, parseLogLevel } from './choices.ts';
import { parseConnections, parseDatabaseUrl } from './database.ts';
import { parseJwksLocation, parsePath, parseSecrets } from './files.ts';
import type { Parser } from './parsed.ts';
import { parseRedisUrl } from './redis-url.ts';

export interface Variable<T> {
  readonly name: string;
  readonly parse: Parser<T>;
  /** One line for people, the same in `.env.example` and in docs/configuration.md. */
  readonly meaning: string;
}

/** A variable that has a value even when it is not set. */
export interface VariableWithDefault<T> extends Variable<T> {
  readonly default: string;
}

const optional = <T>(name: string, parse: Parser<T>, meaning: string): Variable<T> => ({
  name,
  parse,
  meaning,
});

const withDefault = <T>(
  name: string,
  text: string,
  parse: Parser<T>,
  meaning: string,
): VariableWithDefault<T> => ({ name, default: text, parse, meaning });

/** Every variable that Leadtap reads. `.env.example` and docs/configuration.md are held against this table. */
export const VARIABLES = {
  databaseUrl: withDefault(
    'LEADTAP_DATABASE_URL',
    'sqlite:./data/leadtap.db',
    parseDatabaseUrl,
    'The database: `sqlite:` and the path of its file, or `postgres://user:password@host:5432/database`.',
  ),
  databaseConnections: withDefault(
    'LEADTAP_DATABASE_CONNECTIONS',
    '10',
    parseConnections,
    'How many connections to PostgreSQL one process holds at most.',
  ),
  redisUrl: optional(
    'LEADTAP_REDIS_URL',
    parseRedisUrl,
    'The Redis or Valkey in which several instances count the rate limits together; `rediss://` is encrypted.',
  ),
  host: withDefault(
    'LEADTAP_HOST',
    '127.0.0.1',
    parseHost,
    'The address to listen on; `0.0.0.0` or `::` for all.',
  ),
  port: withDefault('LEADTAP_PORT', '3000', parsePort, 'The port to listen on; `0` takes any free one.'),
  basePath: optional(
    'LEADTAP_BASE_PATH',
    parseBasePath,
    'A path that stands before every path of the service, such as `/api`.',
  ),
  publicUrl: optional(
    'LEADTAP_PUBLIC_URL',
    parsePublicUrl,
    'The base address as clients see it, for the links in answers. Without a path of its own it gets the base path.',
  ),
  trustProxy: withDefault(
    'LEADTAP_TRUST_PROXY',
    'false',
    parseTrustProxy,
    "Which proxies may tell a caller's address: `false`, a number of hops, or a list of addresses and ranges.",
  ),
  signingKey: optional(
    'LEADTAP_SIGNING_KEY',
    parseSecrets,
    'Secrets that sign tokens: base64 of at least 32 bytes each. The first signs, all verify.',
  ),
  signingKeyFile: optional(
    'LEADTAP_SIGNING_KEY_FILE',
    parsePath,
    'A file with such secrets, one a line; unless given `signing.key` beside the SQLite file, with PostgreSQL in `./data`. `serve` and `org apply` make it when it is missing.',
  ),
  jwksUrl: optional(
    'LEADTAP_JWKS_URL',
    parseJwksLocation,
    'The public keys of your identity provider: an address, or the path of a file.',
  ),
  tokenIssuer: optional(
    'LEADTAP_TOKEN_ISSUER',
    parseAnyText,
    'The `iss` that tokens of the identity provider must have.',
  ),
  tokenAudience: optional(
    'LEADTAP_TOKEN_AUDIENCE',
    parseAnyText,
    'The `aud` that tokens of the identity provider must have.',
  ),
  metricsAddress: withDefault(
    'LEADTAP_METRICS_ADDRESS',
    '127.0.0.1:9464',
    parseMetricsAddress,
    'Where `/metrics` listens; port `0` takes any free one, `off` is none.',
  ),
  autoMigrate: withDefault(
    'LEADTAP_AUTO_MIGRATE',
    'true',
    parseBoolean,
    'Whether every command brings the schema up to date first; `false` leaves it to `leadtap migrate`.',
  ),
  logLevel: withDefault(
    'LEADTAP_LOG_LEVEL',
    'info',
    parseLogLevel,
    'How much is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  ),
};

export const VARIABLE_NAMES: readonly string[] = Object.values(VARIABLES).map(({ name }) => name);
