import type { Socket } from 'node:net';
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** The `{base_url}` as the caller sees it, without a slash at its end. */
export type PublicUrl = (request: FastifyRequest) => string;

/** What a request says of the address it came to. */
export interface Addressed {
  readonly protocol: string;
  readonly host: string;
  readonly socket: Socket;
}

/** What may stand in a Host header; anything else could break out of a Link. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

export function makePublicUrl(
  configured: string | undefined,
  basePath: string,
): (request: Addressed) => string {
  if (configured !== undefined) return () => configured;
  return (request) => `${schemeOf(request)}://${hostOf(request)}${basePath}`;
}

/** Behind a proxy this is whatever the proxy let through in X-Forwarded-Proto. */
const schemeOf = ({ protocol }: Addressed): string => (/^https$/i.test(protocol) ? 'https' : 'http');

function hostOf({ host, socket }: Addressed): string {
  if (HOST.test(host)) return host;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
