/** Parsers of addresses: databases, Redis, JWKS, the public URL. No message shows an address: it may contain a password. */
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, InvalidValueError, type Parser } from './values.ts';

/** Where the public keys of an identity provider are. */
export type JwksLocation =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string };

export interface SqliteDatabase {
  readonly kind: 'sqlite';
  /** Absolute. */
  readonly file: string;
}

export interface PostgresDatabase {
  readonly kind: 'postgres';
  /** Contains the password: show `describeDatabase` to people. */
  readonly url: string;
  /** The maximum per process. */
  readonly connections: number;
}

export type Database = SqliteDatabase | PostgresDatabase;

/** A database without the settings that are not part of its address. */
export type DatabaseAddress = SqliteDatabase | Omit<PostgresDatabase, 'connections'>;

export const parseDatabaseUrl: Parser<DatabaseAddress> = (text, cwd) => {
  if (/^sqlite:/.test(text))
    return { kind: 'sqlite', file: parseSqlitePath(text.slice('sqlite:'.length), cwd) };
  if (/^postgres(ql)?:\/\//i.test(text)) return { kind: 'postgres', url: parsePostgresUrl(text, cwd) };
  throw new InvalidValueError(
    'it starts neither with sqlite: nor with postgres://',
    'Write sqlite:./data/leadtap.db, or postgres://user:password@host:5432/database.',
  );
};

/** The file, or the address without its password. */
export function describeDatabase(database: DatabaseAddress): string {
  switch (database.kind) {
    case 'sqlite':
      return database.file;
    case 'postgres':
      return describePostgres(database.url);
  }
}

function parseSqlitePath(text: string, cwd: string): string {
  const path = text.replace(/^\/\/(?=\/)/, '');
  const name = basename(path);
  const fix = 'Write sqlite: and the path of a file, such as sqlite:./data/leadtap.db.';
  check(
    name !== ':memory:',
    'a database in memory cannot be shared between the server and the commands',
    fix,
  );
  check(path !== '' && !/[/\\]$/.test(path) && !/^\.{1,2}$/.test(name), 'it names no file', fix);
  check(!path.startsWith('//'), 'it names a host, but SQLite opens only files', fix);
  check(!path.startsWith('~'), 'the ~ is not expanded', fix);
  check(!path.includes('?'), 'it takes no options after a question mark', fix);
  return resolve(cwd, path);
}

const ENCODING =
  'In a user name or a password, write % as %25, @ as %40, : as %3A, / as %2F, ? as %3F and # as %23.';

function parseServiceUrl(text: string, example: string): URL {
  const fix = `${example} ${ENCODING}`;
  check(URL.canParse(text), 'it is not a valid address', fix);
  const url = new URL(text);
  check(!`${url.pathname}${url.search}${url.hash}`.includes('@'), 'it has an @ after the host', fix);
  check(url.hash === '' && !text.endsWith('#'), 'it contains a #', fix);
  try {
    decodeURIComponent(`${url.username}${url.password}${url.hostname}${url.pathname}`);
  } catch {
    throw new InvalidValueError('it has a % that is not a valid escape', fix);
  }
  return url;
}

/** `user@host:5432`, without the password. */
function describeAuthority({ username, hostname, port }: URL, defaultPort: string): string {
  const user = username === '' ? '' : `${username}@`;
  return `${user}${hostname}:${port || defaultPort}`;
}

const POSTGRES_EXAMPLE = 'Write postgres://user:password@host:5432/database.';
const OPTIONS = ['application_name', 'host', 'port', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert'];
const FILE_OPTIONS = ['sslcert', 'sslkey', 'sslrootcert'];
/** Without allow and prefer, which may silently use no encryption, and no-verify, which accepts any certificate. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/** Returns the address as the driver needs it, with absolute paths. */
function parsePostgresUrl(text: string, cwd: string): string {
  // Node's URL parser rejects credentials before an empty host. PostgreSQL allows them: the socket is an option.
  const hostless = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?(?=[/?#]|$)/i;
  const url = parseServiceUrl(text.replace(hostless, '$&localhost'), POSTGRES_EXAMPLE);
  const hasHost = !hostless.test(text) || url.searchParams.has('host');
  const database = url.pathname.slice(1);
  check(hasHost, 'it names no host', `${POSTGRES_EXAMPLE} For a socket, write ?host=/folder/of/the/socket.`);
  check(!url.hostname.includes(','), 'it names several hosts', 'Name one that always leads to the primary.');
  check(database !== '', 'it names no database', POSTGRES_EXAMPLE);
  check(!database.includes('/'), 'its path is not the name of a database', POSTGRES_EXAMPLE);
  checkPostgresOptions(url.searchParams);
  setDriverOptions(url.searchParams, cwd);
  return url.href;
}

function checkPostgresOptions(options: URLSearchParams): void {
  const names = [...options.keys()];
  const port = Number(options.get('port') ?? 5432);
  const mode = options.get('sslmode');
  check(
    [...options].every(([name, value]) => OPTIONS.includes(name) && value !== '') &&
      new Set(names).size === names.length,
    'it has options that are unknown, empty or repeated',
    `After the question mark, write only ${OPTIONS.join(', ')}, each at most once and with a value.`,
  );
  check(
    options.get('host')?.startsWith('/') !== false,
    'its option host is not a folder',
    'Write ?host= with the absolute path of the folder.',
  );
  check(
    Number.isInteger(port) && port >= 1 && port <= 65_535,
    'its option port is not a port',
    'Write a whole number from 1 to 65535.',
  );
  check(
    mode === null || SSL_MODES.includes(mode),
    `its sslmode is none of ${SSL_MODES.join(', ')}`,
    'Write verify-full. Write verify-ca if the certificate names another host. Write disable only on a network that you trust.',
  );
  check(
    mode !== 'verify-ca' || options.has('sslrootcert'),
    'its sslmode=verify-ca needs sslrootcert',
    'Write sslrootcert= and the path of the certificate of the authority.',
  );
  const isPair = options.has('sslcert') === options.has('sslkey');
  check(isPair, 'it has only one of sslcert and sslkey', 'Write both, or neither.');
}

/**
 * Today the driver treats require and verify-ca as verify-full, and warns on stderr that its next major version will not.
 * An explicit mode avoids both the warning and the change.
 */
function setDriverOptions(options: URLSearchParams, cwd: string): void {
  for (const name of FILE_OPTIONS) {
    const path = options.get(name);
    if (path !== null) options.set(name, resolve(cwd, path));
  }
  const mode = options.get('sslmode');
  if (mode === 'verify-ca') options.set('uselibpqcompat', 'true');
  if (mode === 'require' || (mode === null && FILE_OPTIONS.some((name) => options.has(name))))
    options.set('sslmode', 'verify-full');
}

function describePostgres(text: string): string {
  const url = new URL(text);
  const folder = url.searchParams.get('host');
  if (folder === null) return `postgres://${describeAuthority(url, '5432')}${url.pathname}`;
  const user = url.username === '' ? '' : `${url.username}@`;
  const port = url.searchParams.get('port') ?? url.port;
  return `postgres://${user}${url.pathname}?host=${folder}${port && `&port=${port}`}`;
}

export const parseRedisUrl: Parser<string> = (text) => {
  const fix = 'Write redis://user:password@host:6379/0, or rediss:// for an encrypted connection.';
  check(/^rediss?:\/\//i.test(text), 'it does not start with redis:// or rediss://', fix);
  const { hostname, pathname, href } = parseServiceUrl(text, fix);
  check(hostname !== '', 'it names no host', fix);
  check(!text.includes('?'), 'it takes no options after a question mark', fix);
  check(/^(\/\d{0,5})?$/.test(pathname), 'its path is not the number of a database', fix);
  return href;
};

/** The address without its password. */
export function describeRedis(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${describeAuthority(url, '6379')}${url.pathname.replace(/^\/$/, '')}`;
}

export const parsePublicUrl: Parser<string> = (text) => {
  const fix = 'Write the base URL that clients use, such as https://leads.example.com/api.';
  const url = parseHttpUrl(text, fix);
  check(!/[?#]/.test(text), 'it contains a query or a fragment', fix);
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
};

export const parseAlertUrl: Parser<string> = (text) =>
  parseHttpUrl(text, 'Write the whole address, such as https://ntfy.sh/my-secret-topic.').href;

/** Names, `*.` and a name, or origins, as the URL parser writes them. */
export const parseHookHosts: Parser<readonly string[]> = (text) =>
  text
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '')
    .map(parseHookHost);

/** Under which everyone can register a name. */
const COUNTRY_SUFFIX = /^(?:ac|co|com|edu|gob|gov|go|ne|net|nom|or|org)\.[a-z]{2}$/;

function parseHookHost(text: string): string {
  const fix =
    'Write host names separated by commas, such as n8n.example.com or *.example.org, or whole origins such as http://127.0.0.1:5678.';
  if (text.includes('://')) {
    const url = parseHttpUrl(text, fix);
    check(url.href === `${url.origin}/` && !/[?#*]/.test(text), 'an origin in it has a path or a `*`', fix);
    return url.origin;
  }
  const isWildcard = text.startsWith('*.');
  const name = isWildcard ? text.slice(2) : text;
  const url = `https://${name}`;
  const isName = /^(?:[^\s/?#@:\\%*[\]]+|\[[^\]]*\])$/.test(name) && URL.canParse(url);
  check(isName, `${JSON.stringify(text)} in it is not a host`, fix);
  const { hostname } = new URL(url);
  const [last = '', ...others] = hostname.split('.').reverse();
  // All hosts of `*.com` or `*.co.uk` are as good as all hosts. An IP address has no letters in its last part, or no dots.
  const isNarrow =
    others.some((label) => label !== '') && /[a-z]/.test(last) && !COUNTRY_SUFFIX.test(hostname);
  check(!isWildcard || isNarrow, `${JSON.stringify(text)} in it is too wide`, fix);
  return isWildcard ? `*.${hostname}` : hostname;
}

function parseHttpUrl(text: string, fix: string): URL {
  const isHttp = /^https?:\/\//i.test(text) && URL.canParse(text);
  check(isHttp, 'it is not a valid http:// or https:// address', fix);
  const url = new URL(text);
  check(!url.username && !url.password, 'it contains a user name or a password', fix);
  return url;
}

const JWKS_FIX =
  'Write an address such as https://id.example.com/.well-known/jwks.json, or the path of a local file such as ./jwks.json.';

/** The public keys of an identity provider: an address to fetch, or a local file. */
export const parseJwksLocation: Parser<JwksLocation> = (text, cwd) => {
  if (/^https?:/i.test(text)) return { kind: 'url', url: parseHttpUrl(text, JWKS_FIX).href };
  if (/^file:/i.test(text)) return { kind: 'file', file: parseFileUrl(text, cwd) };
  // A single letter before the colon is a Windows drive.
  check(!/^[a-z][a-z0-9+.-]+:/i.test(text), 'its scheme is not https:, http: or file:', JWKS_FIX);
  check(!/^[\w-]+(\.[\w-]+)+\//.test(text), 'it looks like an address without https://', JWKS_FIX);
  return { kind: 'file', file: resolve(cwd, text) };
};

function parseFileUrl(text: string, cwd: string): string {
  if (!/^file:\/\//i.test(text)) return resolve(cwd, text.slice('file:'.length));
  try {
    return fileURLToPath(text);
  } catch {
    throw new InvalidValueError('it names a file on another host', JWKS_FIX);
  }
}
