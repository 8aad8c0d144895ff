import { createServer, type RequestListener, type Server } from 'node:http';
import { MAX_HEADER_BYTES } from '@leadtap/contract';
import type { Lane } from './express-lane.ts';

/** Longer than the usual 60 s of load balancers, which would otherwise reuse a socket we just closed. */
const KEEP_ALIVE_MS = 72_000;

/** Node's server: the lane takes what it can, Fastify has the rest. */
export function makeServer(
  lane: Lane | undefined,
  toFastify: RequestListener,
  requestTimeoutMs: number,
): Server {
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
  return createServer(options, (request, response) => {
    if (!lane?.(request, response)) toFastify(request, response);
  });
}
