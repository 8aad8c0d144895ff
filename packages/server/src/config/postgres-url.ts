import { resolve } from 'node:path';
import { type Parsed, right, wrong } from './parsed.ts';
import { describeAuthority, readServiceUrl } from './service-url.ts';

const WRITE = 'Write postgres://user:password@host:5432/database.';
const OPTIONS = ['application_name', 'host', 'port', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert'];
const OPTIONS_WRITE = `After the question mark write only ${OPTIONS.join(', ')}, each at most once and with a value.`;
const FILE_OPTIONS = ['sslcert', 'sslkey', 'sslrootcert'];
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];
const SSL_WRITE =
  'Write verify-full; or verify-ca where the certificate names another host; or disable where nobody can listen on the way.';

/** To the address in the form in which the driver takes it, with absolute paths. */
export function parsePostgresUrl(text: string, cwd: string): Parsed<string> {
  // Credentials before an empty host are no URL to Node, but they are to PostgreSQL, whose socket is an option.
  const hostless = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?(?=[/?#]|$)/i;
  const read = readServiceUrl(text.replace(hostless, '$&localhost'), WRITE);
  if (read.kind === 'wrong') return read;
  const url = read.value;
  const names = [...url.searchParams.keys()];
  const isPlaced = !hostless.test(text) || names.includes('host');
  const problem = placeProblem(url, isPlaced) ?? optionsProblem(url.searchParams);
  return problem ?? right(withDriversOptions(url, cwd));
}

type Wrong = Parsed<never> | undefined;

function placeProblem(url: URL, isPlaced: boolean): Wrong {
  const database = url.pathname.slice(1);
  if (!isPlaced)
    return wrong('it names no host', `${WRITE} A socket is given as ?host=/folder/of/the/socket.`);
  if (url.hostname.includes(','))
    return wrong('it names several hosts', 'Name one that always leads to the primary.');
  if (database === '') return wrong('it names no database', WRITE);
  if (database.includes('/')) return wrong('its path is not the name of a database', WRITE);
  return undefined;
}

function optionsProblem(options: URLSearchParams): Wrong {
  const names = [...options.keys()];
  const isKnown = ([name, value]: [string, string]) => OPTIONS.includes(name) && value !== '';
  if (![...options].every(isKnown) || new Set(names).size < names.length)
    return wrong('it has options that are not known, are empty or stand twice', OPTIONS_WRITE);
  const host = options.get('host');
  if (host !== null && !host.startsWith('/'))
    return wrong('its option host is not a folder', 'Write ?host= with the absolute path of the folder.');
  const port = Number(options.get('port') ?? 5432);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return wrong('its option port is not a port', 'Write a whole number from 1 to 65535.');
  return encryptionProblem(options);
}

function encryptionProblem(options: URLSearchParams): Wrong {
  const mode = options.get('sslmode');
  // Others fall back to no encryption in silence (allow, prefer), or believe any certificate (no-verify).
  if (mode !== null && !SSL_MODES.includes(mode))
    return wrong(`its sslmode is none of ${SSL_MODES.join(', ')}`, SSL_WRITE);
  if (mode === 'verify-ca' && !options.has('sslrootcert'))
    return wrong(
      'its sslmode=verify-ca needs sslrootcert',
      'Write sslrootcert= and the path of the certificate of the authority.',
    );
  if (options.has('sslcert') !== options.has('sslkey'))
    return wrong('it has one of sslcert and sslkey alone', 'Write both, or neither.');
  return undefined;
}

/**
 * The driver means verify-full by require and verify-ca today and announces weaker meanings for its next major version
 * on stderr. What is meant is written out, so that neither is seen.
 */
function withDriversOptions(url: URL, cwd: string): string {
  const options = url.searchParams;
  for (const name of FILE_OPTIONS) {
    const path = options.get(name);
    if (path !== null) options.set(name, resolve(cwd, path));
  }
  const mode = options.get('sslmode');
  if (mode === 'verify-ca') options.set('uselibpqcompat', 'true');
  if (mode === 'require' || (mode === null && FILE_OPTIONS.some((name) => options.has(name))))
    options.set('sslmode', 'verify-full');
  return url.href;
}

/** For people: never with the password. */
export function describePostgres(text: string): string {
  const url = new URL(text);
  const folder = url.searchParams.get('host');
  if (folder === null) return `postgres://${describeAuthority(url, '5432')}${url.pathname}`;
  const user = url.username === '' ? '' : `${url.username}@`;
  const port = url.searchParams.get('port') ?? url.port;
  return `postgres://${user}${url.pathname}?host=${folder}${port && `&port=${port}`}`;
}
