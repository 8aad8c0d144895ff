/** The client's address and the public URL of a request, with or without proxies in front. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';

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
  return `${isEncrypted ? 'https' : 'http'}://${HOST.test(host) ? host : localHost(socket)}${basePath}`;
}

const localHost = ({ localAddress = '127.0.0.1', localPort = 80 }: Socket): string =>
  `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
