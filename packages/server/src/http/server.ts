import { createServer, type RequestListener, type Server } from 'node:http';
import { MAX_HEADER_BYTES } from '@leadtap/contract';
import type { ExpressLane } from './lane/express-lane.ts';

/** Longer than the usual 60 s of load balancers, which would otherwise reuse a socket we just closed. */
export const KEEP_ALIVE_MS = 72_000;

/** Node's server: the lane takes what it can, Fastify has the rest. */
export function makeServer(lane: ExpressLane, toFastify: RequestListener, requestTimeoutMs: number): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // Node looks only every 30 s for requests that are late.
    connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 5),
    // Checked by the application, where the answer has a body.
    requireHostHeader: false,
  };
  const server = createServer(options, toFastify);
  putInFront(lane, server);
  return server;
}

/** Connections reach Node's own listener only when the lane leaves them to it. */
function putInFront(lane: ExpressLane, server: Server): void {
  const nodes = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket) =>
    lane.take(socket, () => {
      for (const listener of nodes) Reflect.apply(listener, server, [socket]);
    }),
  );
}
