import { createServer, type RequestListener, type Server } from 'node:http';
import { MAX_HEADER_BYTES } from '@leadtap/contract';
import type { Connections } from './connections.ts';

/** Longer than the usual 60 s of load balancers, which would otherwise reuse a socket we just closed. */
const KEEP_ALIVE_MS = 72_000;

export interface ServerLimits {
  readonly requestTimeoutMs: number;
  /** Further connections are dropped. */
  readonly maxConnections?: number | undefined;
  readonly onDroppedConnection?: (() => void) | undefined;
}

/** Node's HTTP server, with the limits that a public service needs. */
export function makeServer(connections: Connections, limits: ServerLimits): Server {
  const { requestTimeoutMs, maxConnections, onDroppedConnection } = limits;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // Node looks only every 30 s for requests that are late.
    connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 5),
    // Checked by the application, where the answer has a body.
    requireHostHeader: false,
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  if (onDroppedConnection) server.on('drop', onDroppedConnection);
  connections.watch(server);
  return server;
}

/** Polls go straight to their handler: Fastify's router and reply would cost a quarter of their rate. */
export function routePolls(
  path: string,
  handlePoll: RequestListener,
  handleOther: RequestListener,
): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    const isPoll = url.startsWith(path) && (url.length === path.length || url[path.length] === '?');
    // Other spellings of the path are known to Fastify, whose route has the same handler.
    (isPoll ? handlePoll : handleOther)(request, response);
  };
}
