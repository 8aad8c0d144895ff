/** A poll as nearly every client sends it, read from the bytes of its connection. */
export interface PlainPoll {
  /** What follows the `?` of the address. */
  readonly search: string;
  readonly host: string;
  readonly authorization: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  /** Of proxies in front, or whoever claims to be one. */
  readonly forwardedFor: string | undefined;
  readonly forwardedHost: string | undefined;
  readonly forwardedProto: string | undefined;
  /** The client wants no further answer on this connection. */
  readonly isLast: boolean;
}

/** Together, in bytes: an address, a token and what clients say of themselves. */
export const LONGEST_PLAIN_POLL = 8 * 1024;

/** Node forgets what comes after the thousandth. */
const MOST_HEADERS = 100;

const METHOD = 'GET ';
const VERSION = ' HTTP/1.1\r\n';
const SEARCH = /^[\w.:~%+&=,;@/?!*'()-]*$/;
/** Names and values of printable ASCII, each on a line of its own, and an empty line behind them that ends the text. */
const HEADERS = /^(?:[\w-]+:[ -~]*\r\n)+\r\n$/;

/** What a poll is answered by. Twice the same is not plain. */
interface Headers {
  host: string | undefined;
  authorization: string | undefined;
  'if-none-match': string | undefined;
  'x-request-id': string | undefined;
  traceparent: string | undefined;
  'x-forwarded-for': string | undefined;
  'x-forwarded-host': string | undefined;
  'x-forwarded-proto': string | undefined;
  connection: string | undefined;
}

const READ: readonly (keyof Headers)[] = [
  'host',
  'authorization',
  'if-none-match',
  'x-request-id',
  'traceparent',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'connection',
];
/** Says that the request goes on behind its headers, or that the connection shall become something else. */
const NOT_PLAIN = [
  'content-length',
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Of the others, those that nearly every client sends. */
const IGNORED = ['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent'];

type Meaning = keyof Headers | 'not plain' | 'ignored';

/** By name, as clients write them: `user-agent` and `User-Agent`. */
const MEANINGS = new Map<string, Meaning>(
  [
    ...READ.map((name) => [name, name] as const),
    ...NOT_PLAIN.map((name) => [name, 'not plain'] as const),
    ...IGNORED.map((name) => [name, 'ignored'] as const),
  ].flatMap(([name, meaning]) => [
    [name, meaning],
    [name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()), meaning],
  ]),
);

const meaningOf = (name: string): Meaning =>
  MEANINGS.get(name) ?? MEANINGS.get(name.toLowerCase()) ?? 'ignored';

/**
 * Undefined for everything that is not a single, whole, plain poll without a body: then Node's parser reads the same
 * bytes. What is read here must be read alike there, so whatever two readers might ever understand differently
 * (lines that go on, other line ends, repeated headers, a length) is not plain.
 */
export function readPlainPoll(text: string, path: string): PlainPoll | undefined {
  if (!text.startsWith(METHOD) || !text.startsWith(path, METHOD.length)) return undefined;
  const targetEnd = text.indexOf(VERSION);
  if (targetEnd < 0) return undefined;
  const search = readSearch(text, METHOD.length + path.length, targetEnd);
  if (search === undefined) return undefined;
  const headers = readHeaders(text.slice(targetEnd + VERSION.length));
  if (headers?.host === undefined) return undefined;
  const connection = headers.connection?.toLowerCase() ?? 'keep-alive';
  if (connection !== 'keep-alive' && connection !== 'close') return undefined;
  return {
    search,
    host: headers.host,
    authorization: headers.authorization,
    ifNoneMatch: headers['if-none-match'],
    requestId: headers['x-request-id'],
    traceparent: headers.traceparent,
    forwardedFor: headers['x-forwarded-for'],
    forwardedHost: headers['x-forwarded-host'],
    forwardedProto: headers['x-forwarded-proto'],
    isLast: connection === 'close',
  };
}

function readSearch(text: string, pathEnd: number, targetEnd: number): string | undefined {
  if (pathEnd === targetEnd) return '';
  if (text[pathEnd] !== '?') return undefined;
  const search = text.slice(pathEnd + 1, targetEnd);
  return SEARCH.test(search) ? search : undefined;
}

function readHeaders(lines: string): Headers | undefined {
  if (!HEADERS.test(lines)) return undefined;
  const headers: Headers = {
    host: undefined,
    authorization: undefined,
    'if-none-match': undefined,
    'x-request-id': undefined,
    traceparent: undefined,
    'x-forwarded-for': undefined,
    'x-forwarded-host': undefined,
    'x-forwarded-proto': undefined,
    connection: undefined,
  };
  for (let at = 0, count = 0; at < lines.length - 2; count += 1) {
    if (count === MOST_HEADERS) return undefined;
    const colon = lines.indexOf(':', at);
    const end = lines.indexOf('\r\n', colon);
    const meaning = meaningOf(lines.slice(at, colon));
    if (meaning === 'not plain') return undefined;
    if (meaning !== 'ignored') {
      if (headers[meaning] !== undefined) return undefined;
      headers[meaning] = lines.slice(colon + 1, end).trim();
    }
    at = end + 2;
  }
  return headers;
}
