/** The client's address and the public URL of a request, with or without proxies in front. */
import type { IncomingMessage } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';

/** The proxies whose `X-Forwarded-*` headers are used: none, this many in front, or those with these addresses. */
export type TrustProxy = false | number | readonly string[];

/** Whether a proxy is trusted, by its address and its distance; 0 is the peer of the connection. */
export type IsTrustedProxy = (address: string, hop: number) => boolean;

/**
 * With a number, that many of the nearest addresses are proxies, and the one before them is the client. Fastify's own
 * `trustProxy` ignores numbers, because a client that can reach the port directly could then choose its address. Operators of
 * platforms whose proxies change their addresses know only the number, so it is supported here; docs/configuration.md says
 * when it is safe.
 */
export function compileTrust(trust: TrustProxy): IsTrustedProxy | undefined {
  if (trust === false) return undefined;
  return typeof trust === 'number' ? (_address, hop) => hop < trust : proxyAddr.compile([...trust]);
}

/** The client's address, past trusted proxies. Empty if the connection was reset before it was read. */
export function clientAddress(request: IncomingMessage, isTrusted: IsTrustedProxy | undefined): string {
  const address: string | undefined = isTrusted
    ? proxyAddr(request, isTrusted)
    : request.socket.remoteAddress;
  return address ?? '';
}

/** The `{base_url}` as the client sees it, without a trailing slash. */
export type PublicUrl = (request: FastifyRequest) => string;

export interface Origin {
  readonly protocol: string;
  readonly host: string;
  readonly socket: Socket;
}

/** The host and scheme that the client used: `X-Forwarded-Host` and `-Proto` if the peer is a trusted proxy. */
export function originOf({ headers, socket }: IncomingMessage, isTrusted?: IsTrustedProxy): Origin {
  const { host = '' } = headers;
  const protocol = 'encrypted' in socket && socket.encrypted ? 'https' : 'http';
  if (!isTrusted?.(socket.remoteAddress ?? '', 0)) return { host, protocol, socket };
  return {
    host: lastEntry(headers['x-forwarded-host']) || host,
    protocol: lastEntry(headers['x-forwarded-proto']) || protocol,
    socket,
  };
}

/** The address of a proxy that says `https` and is not trusted, so that the URLs in responses begin with `http:`. */
export function untrustedProxyOf(
  { headers, socket }: IncomingMessage,
  isTrusted?: IsTrustedProxy,
): string | undefined {
  const { remoteAddress = '' } = socket;
  const saysHttps = /^https$/i.test(lastEntry(headers['x-forwarded-proto']));
  return saysHttps && !isTrusted?.(remoteAddress, 0) ? remoteAddress.replace(/^::ffff:/, '') : undefined;
}

/** The entry of the nearest proxy. */
function lastEntry(header: string | string[] | undefined): string {
  const list = String(header ?? '');
  return list.slice(list.lastIndexOf(',') + 1).trim();
}

/** The valid form of a Host header. Any other value could end the URL in a Link header early. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Returns the configured URL, or else the one that the request was sent to. */
export function createPublicUrl(
  configured: string | undefined,
  basePath: string,
): (origin: Origin) => string {
  if (configured !== undefined) return () => configured;
  return (origin) => `${schemeOf(origin)}://${hostOf(origin)}${basePath}`;
}

/** Behind a proxy, the protocol is any text from `X-Forwarded-Proto`. */
const schemeOf = ({ protocol }: Origin): string => (/^https$/i.test(protocol) ? 'https' : 'http');

function hostOf({ host, socket }: Origin): string {
  if (HOST.test(host)) return host;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
