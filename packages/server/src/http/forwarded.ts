import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { Addressed } from './public-url.ts';

/** Whose word about the caller's address counts: nobody's, so many proxies in front, or the proxies with these addresses. */
export type TrustProxy = false | number | readonly string[];

/** Whether the word of a proxy counts: by its address, and by how many proxies stand between it and us. */
export type Trust = (address: string, hop: number) => boolean;

/**
 * A number of proxies in front: the nearest addresses are theirs, the one before them is the caller's.
 * Fastify itself trusts nobody for a number, because a caller who can reach the port past the proxies would then choose
 * its own address. In front of a platform whose proxies change their addresses a number is all that an operator knows,
 * so here it counts; the default trusts nobody, and docs/configuration.md tells when a number is safe.
 */
export function makeTrust(trust: TrustProxy): Trust | undefined {
  if (trust === false) return undefined;
  return typeof trust === 'number' ? (_address, hop) => hop < trust : proxyAddr.compile([...trust]);
}

/** The client's address, past the proxies that are trusted. Empty when the connection was reset before it was read. */
export function callerAddress(request: IncomingMessage, trust: Trust | undefined): string {
  const address: string | undefined = trust ? proxyAddr(request, trust) : request.socket.remoteAddress;
  return address ?? '';
}

/** The host and scheme that the client used: `X-Forwarded-Host` and `-Proto` if the peer is a trusted proxy. */
export function originOf({ headers, socket }: IncomingMessage, trust: Trust | undefined): Addressed {
  const { host = '' } = headers;
  const protocol = 'encrypted' in socket && socket.encrypted ? 'https' : 'http';
  if (!trust?.(socket.remoteAddress ?? '', 0)) return { host, protocol, socket };
  return {
    host: lastEntry(headers['x-forwarded-host']) || host,
    protocol: lastEntry(headers['x-forwarded-proto']) || protocol,
    socket,
  };
}

/** The entry of the nearest proxy. */
function lastEntry(header: string | string[] | undefined): string {
  const list = String(header ?? '');
  return list.slice(list.lastIndexOf(',') + 1).trim();
}
