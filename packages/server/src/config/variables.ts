import * as urls from './urls.ts';
import * as values from './values.ts';
import { LOG_LEVELS, type Parser } from './values.ts';

export interface Variable<T> {
  readonly name: string;
  readonly parse: Parser<T>;
  /** For people: the same text is in `.env.example` and in docs/configuration.md. */
  readonly meaning: string;
}

/** A variable that always has a value. */
export interface VariableWithDefault<T> extends Variable<T> {
  readonly default: string;
}

/** Every variable that Leadtap reads. A test compares `.env.example` and docs/configuration.md with this table. */
export const VARIABLES = {
  databaseUrl: {
    name: 'LEADTAP_DATABASE_URL',
    default: 'sqlite:./data/leadtap.db',
    parse: urls.parseDatabaseUrl,
    meaning:
      'Database: `sqlite:` followed by the path of a file, or `postgres://user:password@host:5432/database`.',
  },
  databaseConnections: {
    name: 'LEADTAP_DATABASE_CONNECTIONS',
    default: '10',
    parse: values.parseConnections,
    meaning: 'Maximum number of connections to PostgreSQL per process.',
  },
  redisUrl: {
    name: 'LEADTAP_REDIS_URL',
    parse: urls.parseRedisUrl,
    meaning:
      'Redis or Valkey server. Several instances need it to share the rate limits. `rediss://` encrypts the connection.',
  },
  host: {
    name: 'LEADTAP_HOST',
    default: '127.0.0.1',
    parse: values.parseHost,
    meaning: 'Address to listen on. `0.0.0.0` or `::` means all addresses.',
  },
  port: {
    name: 'LEADTAP_PORT',
    default: '3000',
    parse: values.parsePort,
    meaning: 'Port to listen on. `0` means any free port.',
  },
  basePath: {
    name: 'LEADTAP_BASE_PATH',
    parse: values.parseBasePath,
    meaning: 'Path prefix of every URL of the service, such as `/api`.',
  },
  publicUrl: {
    name: 'LEADTAP_PUBLIC_URL',
    parse: urls.parsePublicUrl,
    meaning:
      'Base URL that clients use, for the links in responses. If it has no path, the base path is added.',
  },
  trustProxy: {
    name: 'LEADTAP_TRUST_PROXY',
    default: 'false',
    parse: values.parseTrustProxy,
    meaning:
      'Proxies whose `X-Forwarded-For` is trusted: `false`, the number of proxies, or a list of addresses and ranges.',
  },
  signingKey: {
    name: 'LEADTAP_SIGNING_KEY',
    parse: values.parseSecrets,
    meaning:
      'Secrets that sign tokens, each base64 of at least 32 bytes. The first one signs, all of them verify.',
  },
  signingKeyFile: {
    name: 'LEADTAP_SIGNING_KEY_FILE',
    parse: values.parsePath,
    meaning:
      'File with these secrets, one per line. Without it: `signing.key` in the folder of the SQLite file; with PostgreSQL, `./data/signing.key`. `serve` and `org apply` create it if it does not exist.',
  },
  jwksUrl: {
    name: 'LEADTAP_JWKS_URL',
    parse: urls.parseJwksLocation,
    meaning: 'Public keys (JWKS) of your identity provider: a URL, or the path of a file.',
  },
  tokenIssuer: {
    name: 'LEADTAP_TOKEN_ISSUER',
    parse: values.parseText,
    meaning: 'The `iss` that tokens of the identity provider must have.',
  },
  tokenAudience: {
    name: 'LEADTAP_TOKEN_AUDIENCE',
    parse: values.parseText,
    meaning: 'The `aud` that tokens of the identity provider must have.',
  },
  maxLongPolls: {
    name: 'LEADTAP_MAX_LONG_POLLS',
    default: '20000',
    parse: values.parseMaxWaiting,
    meaning:
      'Maximum number of requests per process that wait for a lead (`Prefer: wait`), but at most 80 % of the open connections. Further ones are answered at once. `0` turns waiting off.',
  },
  metricsAddress: {
    name: 'LEADTAP_METRICS_ADDRESS',
    default: '127.0.0.1:9464',
    parse: values.parseMetricsAddress,
    meaning:
      'Private address of `/metrics` and of the status page, `/status`. Port `0` means any free port; `off` turns both off.',
  },
  console: {
    name: 'LEADTAP_CONSOLE',
    default: 'on',
    parse: values.parseOnOff,
    meaning:
      '`on`: the web console is at `{base_url}/`. `off`: it redirects to the documentation at `{base_url}/docs`.',
  },
  intake: {
    name: 'LEADTAP_INTAKE',
    default: 'on',
    parse: values.parseIntake,
    meaning:
      '`on`: accept leads at `POST {base_url}/leads`, from tokens with the scope `leads:write`. `urls`: also with the token in the URL, as `?access_token=…`. `off`: accept none.',
  },
  timeZone: {
    name: 'LEADTAP_TIME_ZONE',
    default: 'UTC',
    parse: values.parseTimeZone,
    meaning:
      'Time zone of times without an offset in leads that are sent or imported, such as `Europe/Paris`. A token can have another one (`token issue --time-zone`).',
  },
  keepRefused: {
    name: 'LEADTAP_KEEP_REFUSED',
    default: 'on',
    parse: values.parseOnOff,
    meaning:
      '`on`: hold requests that send leads and are refused, for 30 days, so that `leadtap leads refused` can accept them. `off`: hold none.',
  },
  hooks: {
    name: 'LEADTAP_HOOKS',
    default: 'on',
    parse: values.parseOnOff,
    meaning:
      '`on`: automation platforms can subscribe webhooks, at `{base_url}/automation/hooks`. `off`: they cannot, and nothing is sent: leads wait for those that there are.',
  },
  hookHosts: {
    name: 'LEADTAP_HOOK_HOSTS',
    parse: urls.parseHookHosts,
    meaning:
      'Hosts that webhooks may be sent to, besides those of the platforms, separated by commas: `n8n.example.com`, `*.example.org`, or a whole origin such as `http://127.0.0.1:5678`.',
  },
  alertUrl: {
    name: 'LEADTAP_ALERT_URL',
    parse: urls.parseAlertUrl,
    meaning:
      'Messages about what gets red or amber on the status page are sent here: an address of ntfy, Slack, Mattermost, Teams, or any other that accepts a text. It is a secret.',
  },
  silentAfter: {
    name: 'LEADTAP_SILENT_AFTER',
    parse: values.parseDuration,
    meaning:
      'A connection from which nothing was heard for this long, such as `30m`, is silent, if that is more than three times its usual pause. Default: 15 minutes.',
  },
  autoMigrate: {
    name: 'LEADTAP_AUTO_MIGRATE',
    default: 'true',
    parse: values.parseBoolean,
    meaning:
      '`true`: `serve`, and every command that uses leads or accounts, updates the database schema first. `false`: only `leadtap migrate` does.',
  },
  logLevel: {
    name: 'LEADTAP_LOG_LEVEL',
    default: 'info',
    parse: values.parseLogLevel,
    meaning: `Log level: ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}.`,
  },
} satisfies Record<string, Variable<unknown> | VariableWithDefault<unknown>>;

/** Docs and console give these names to clients, and a person may export them in the shell of the service: they are ignored. */
export const CLIENT_VARIABLE_NAMES: readonly string[] = ['LEADTAP_URL', 'LEADTAP_TOKEN', 'LEADTAP_SINCE'];

export const VARIABLE_NAMES: readonly string[] = Object.values(VARIABLES).map(({ name }) => name);
