import proxyAddr from '@fastify/proxy-addr';

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

/** What a request says of where it came from. */
export interface Forwarded {
  readonly host: string;
  readonly forwardedFor: string | undefined;
  readonly forwardedHost: string | undefined;
  readonly forwardedProto: string | undefined;
}

/** The caller's address: the first one, from us outwards, whose word does not count. As Fastify finds it. */
export function callerOf(
  { forwardedFor = '' }: Forwarded,
  remoteAddress: string,
  trust: Trust | undefined,
): string {
  if (!trust) return remoteAddress;
  const claimed = forwardedFor.split(',').map((address) => address.trim());
  let address = remoteAddress;
  for (const [hop, further] of claimed.filter(Boolean).reverse().entries()) {
    if (!trust(address, hop)) break;
    address = further;
  }
  return address;
}

/** How the caller addressed the service, if the word of whoever is connected to us counts. As Fastify finds it. */
export function addressedAs(
  { host, forwardedHost, forwardedProto }: Forwarded,
  isTrusted: boolean,
): { host: string; protocol: string } {
  if (!isTrusted) return { host, protocol: 'http' };
  return {
    host: forwardedHost ? lastOf(forwardedHost) : host,
    protocol: forwardedProto ? lastOf(forwardedProto) : 'http',
  };
}

const lastOf = (list: string): string => list.slice(list.lastIndexOf(',') + 1).trim();
