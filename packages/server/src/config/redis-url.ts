import { type Parser, right, wrong } from './parsed.ts';
import { describeAuthority, readServiceUrl } from './service-url.ts';

const WRITE = 'Write redis://user:password@host:6379/0, or rediss:// for an encrypted connection.';

export const parseRedisUrl: Parser<string> = (text) => {
  if (!/^rediss?:\/\//i.test(text)) return wrong('it does not begin with redis:// or rediss://', WRITE);
  const read = readServiceUrl(text, WRITE);
  if (read.kind === 'wrong') return read;
  const { hostname, pathname, search, href } = read.value;
  if (hostname === '') return wrong('it names no host', WRITE);
  if (search !== '' || text.includes('?')) return wrong('it takes no options after a question mark', WRITE);
  if (!/^(\/\d{0,5})?$/.test(pathname))
    return wrong(
      'its path is not the number of a database',
      'Write a number after the slash, or leave both out.',
    );
  return right(href);
};

/** For people: never with the password. */
export function describeRedis(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${describeAuthority(url, '6379')}${url.pathname.replace(/^\/$/, '')}`;
}
