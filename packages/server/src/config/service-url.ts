import { type Parsed, right, wrong } from './parsed.ts';

const ENCODE =
  'In a user name or a password write % as %25, @ as %40, : as %3A, / as %2F, ? as %3F and # as %23.';

/** The address of a database or a Redis. No message shows any part of it: all of it may be a mistyped password. */
export function readServiceUrl(text: string, write: string): Parsed<URL> {
  const help = `${write} ${ENCODE}`;
  if (!URL.canParse(text)) return wrong('it is not a valid address', help);
  const url = new URL(text);
  if (`${url.pathname}${url.search}${url.hash}`.includes('@'))
    return wrong('it has an @ where no password can stand any more', help);
  if (url.hash !== '' || text.endsWith('#')) return wrong('it has a # in it', help);
  if (!isDecodable(`${url.username}${url.password}${url.hostname}${url.pathname}`))
    return wrong('it has a % that encodes nothing', help);
  return right(url);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** `user@host:5432`, for people: never with the password. */
export function describeAuthority({ username, hostname, port }: URL, defaultPort: string): string {
  const user = username === '' ? '' : `${username}@`;
  return `${user}${hostname}:${port || defaultPort}`;
}
