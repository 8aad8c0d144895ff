import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** The `{base_url}` as the caller sees it, without a slash at its end. */
export type PublicUrl = (request: FastifyRequest) => string;

/** What may stand in a Host header; anything else could break out of a Link. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

export function makePublicUrl(configured: string | undefined, basePath: string): PublicUrl {
  if (configured !== undefined) return () => configured;
  return (request) => `${schemeOf(request)}://${hostOf(request)}${basePath}`;
}

/** Behind a proxy this is whatever the proxy let through in X-Forwarded-Proto. */
const schemeOf = ({ protocol }: FastifyRequest): string => (/^https$/i.test(protocol) ? 'https' : 'http');

function hostOf(request: FastifyRequest): string {
  if (HOST.test(request.host)) return request.host;
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
