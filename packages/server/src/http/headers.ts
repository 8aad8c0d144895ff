/** Reads and writes headers. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { ProblemError } from './problems.ts';

/** Names and values alternate: the form that `response.writeHead` takes fastest. */
export type HeaderList = string[];

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/** Of every response. `nosniff` keeps browsers from guessing another media type. */
export const commonHeaders = (requestId: string): HeaderList => [
  'x-request-id',
  requestId,
  'x-content-type-options',
  'nosniff',
];

/** A 400 that closes the connection: what follows on it may be a part of this request. */
export function findHeaderProblem(request: IncomingMessage): ProblemError | undefined {
  const detail = findHeaderFault(request);
  if (detail === undefined) return undefined;
  return new ProblemError('malformed-request', { detail, headers: { connection: 'close' } });
}

/**
 * What is wrong with the headers, for the client. A proxy in front may have used the other one of two headers, or have taken
 * another part of the bytes for the body. Node refuses two lengths, and a length beside chunks.
 */
function findHeaderFault(request: IncomingMessage): string | undefined {
  const { headers, httpVersion } = request;
  // HTTP/1.0 does not have it.
  if (headers.host === undefined && httpVersion === '1.1') return 'Send a Host header.';
  if (isHeaderRepeated(request, 'host')) return 'Send one Host header, not several.';
  if (isHeaderRepeated(request, 'authorization')) return 'Send one Authorization header, not several.';
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return 'Send the body with a Content-Length, or with `Transfer-Encoding: chunked` alone.';
  return undefined;
}

/** Node's `headers` join or drop repeated headers. A proxy may have used another one of them. */
export function isHeaderRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    // Every poll is checked, and few names have the same length.
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count > 1;
}

/** A request of the console. It makes no connection: a tab that is closed would be said to be silent. */
export const isConsoleRequest = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers[CLIENT_HEADER] === CONSOLE_CLIENT;

/** RFC 9110: If-None-Match compares weakly, may list several tags, and `*` matches any. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * The parts between the separators that are not in a quoted string (RFC 9110, 5.6). A quoted string that is not closed ends with
 * the text. The text is read once: a client chooses up to 16 kB of it.
 */
export function splitUnquoted(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

export interface Parameter {
  /** In lower case. */
  readonly name: string;
  /** Without the quotes of a quoted string. Empty if there is none. */
  readonly value: string;
}

/** `name=value`. It is not validated: the caller compares name and value with those that it knows. */
export function parseParameter(text: string): Parameter {
  const equals = text.indexOf('=');
  const end = equals === -1 ? text.length : equals;
  const value = text.slice(end + 1).trim();
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return { name: text.slice(0, end).trim().toLowerCase(), value: isQuoted ? value.slice(1, -1) : value };
}

/** The query string of a URL. */
export function searchOf(url = ''): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

let lastDate = { second: Number.NaN, text: '' };

/** `Mon, 02 Mar 2026 09:30:00 GMT`. Formatted once a second, as Node does for its own Date header. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(ms).toUTCString() };
  return lastDate.text;
}

/** The proxies whose `X-Forwarded-*` headers are used: none, this many in front, or those with these addresses. */
export type TrustProxy = false | number | readonly string[];

/** Whether a proxy is trusted, by its address and its distance; 0 is the peer of the connection. */
export type IsTrustedProxy = (address: string, hop: number) => boolean;

/** Ranges by the names that proxies and frameworks use for them. */
const RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * With a number, that many of the nearest addresses are proxies, and the one before them is the client. A client that can reach
 * the port directly could then choose its address. Operators of platforms whose proxies change their addresses know only the
 * number, so it is supported; docs/configuration.md says when it is safe.
 */
export function compileTrust(trust: TrustProxy): IsTrustedProxy | undefined {
  if (trust === false) return undefined;
  if (typeof trust === 'number') return (_address, hop) => hop < trust;
  const trusted = new BlockList();
  for (const range of trust.flatMap((name) => RANGES[name] ?? [name])) {
    const [network = '', bits] = range.split('/');
    const [family, length] = isIPv6(network) ? (['ipv6', 128] as const) : (['ipv4', 32] as const);
    trusted.addSubnet(network, Number(bits ?? length), family);
  }
  return (address) => isInList(trusted, address);
}

/** Also for an IPv4 address that is mapped to IPv6. */
export function isInList(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** The client's address, past trusted proxies. Empty if the connection was reset before it was read. */
export function clientAddress(
  { headers, socket }: IncomingMessage,
  isTrusted: IsTrustedProxy | undefined,
): string {
  const { remoteAddress = '' } = socket;
  if (!isTrusted) return remoteAddress;
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',');
  const others = forwarded.map((entry) => entry.trim()).filter((entry) => entry !== '');
  const nearestFirst = [remoteAddress, ...others.reverse()];
  return nearestFirst.find((address, hop) => !isTrusted(address, hop)) ?? nearestFirst.at(-1) ?? '';
}

/** The address of a proxy that says `https` and is not trusted, so that the URLs in responses begin with `http:`. */
export function untrustedProxyOf(
  { headers, socket }: IncomingMessage,
  isTrusted?: IsTrustedProxy,
): string | undefined {
  const protocol = headers['x-forwarded-proto'];
  if (protocol === undefined || !/^https$/i.test(lastEntry(protocol))) return undefined;
  const { remoteAddress = '' } = socket;
  return isTrusted?.(remoteAddress, 0) ? undefined : remoteAddress.replace(/^::ffff:/, '');
}

/** The entry of the nearest proxy. */
function lastEntry(header: string | string[] | undefined): string {
  const list = String(header ?? '');
  return list.slice(list.lastIndexOf(',') + 1).trim();
}

/** The valid form of a Host header. Any other value could end the URL in a Link header early. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

let lastHost = { text: '', isValid: false };

/** Nearly all requests name the same host. */
function isValidHost(text: string): boolean {
  if (text !== lastHost.text) lastHost = { text, isValid: HOST.test(text) };
  return lastHost.isValid;
}

/**
 * The `{base_url}` that the client used, without a trailing slash: with `X-Forwarded-Host` and `-Proto` if the peer is a trusted
 * proxy.
 */
export function requestedBaseUrl(
  { headers, socket }: IncomingMessage,
  basePath: string,
  isTrusted?: IsTrustedProxy,
): string {
  const isForwarded = isTrusted?.(socket.remoteAddress ?? '', 0) ?? false;
  const host = (isForwarded && lastEntry(headers['x-forwarded-host'])) || (headers.host ?? '');
  const protocol = isForwarded ? lastEntry(headers['x-forwarded-proto']) : '';
  const isEncrypted = protocol === '' ? 'encrypted' in socket && socket.encrypted : /^https$/i.test(protocol);
  return `${isEncrypted ? 'https' : 'http'}://${isValidHost(host) ? host : localHost(socket)}${basePath}`;
}

const localHost = ({ localAddress = '127.0.0.1', localPort = 80 }: Socket): string =>
  `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
