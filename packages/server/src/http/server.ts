import { createServer, type RequestListener, type Server } from 'node:http';
import { MAX_HEADER_BYTES } from '@leadtap/contract';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Connections } from './connections.ts';
import { problemOf } from './error-handlers.ts';
import { isProbe } from './health.ts';
import { CLIENT_DISCONNECTED, requestLine, routeOf } from './request-log.ts';

/** Longer than the usual 60 s of load balancers, which would otherwise reuse a socket that was just closed. */
const KEEP_ALIVE_MS = 72_000;

export interface ServerLimits {
  /** The time for a whole request to arrive: slow senders must not hold sockets. */
  readonly requestTimeoutMs: number;
  /** Further connections are dropped. Default: no limit. */
  readonly maxConnections?: number | undefined;
  readonly onDroppedConnection?: (() => void) | undefined;
}

/** Node's HTTP server, with the limits of a public service. */
export function makeServer(connections: Connections, limits: ServerLimits): Server {
  const { requestTimeoutMs, maxConnections, onDroppedConnection } = limits;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // Node's default checks for timeouts only every 30 s.
    connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 5),
    // Checked by `requireValidHeaders`, whose response has a body.
    requireHostHeader: false,
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  if (onDroppedConnection) server.on('drop', onDroppedConnection);
  connections.watch(server);
  return server;
}

/** The endpoints bypass Fastify: its router and reply would cost a quarter of their rate. */
export function routeEndpoints(
  endpoints: Readonly<Record<string, RequestListener>>,
  handleOther: RequestListener,
): RequestListener {
  const routes = Object.entries(endpoints);
  return (request, response) => {
    const { url = '' } = request;
    for (const [path, handle] of routes)
      if (url.startsWith(path) && (url.length === path.length || url[path.length] === '?'))
        return handle(request, response);
    // Fastify matches paths with an id and other spellings of a path, and its route calls the same handler.
    return handleOther(request, response);
  };
}

/** Writes the log line of each request that Fastify routes, in the form of the poll handler's. */
export class RequestLogController extends Fastify.LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const state = { problem: problemOf(request) };
    const outcome = { status: reply.statusCode, durationMs: reply.elapsedTime, state };
    const line = requestLine(request.raw, routeOf(request), outcome);
    if (error) request.log.info({ ...line, err: error }, CLIENT_DISCONNECTED);
    else request.log[isSuccessfulProbe(request, reply) ? 'debug' : 'info'](line, 'request');
  }
}

/** Probes arrive every few seconds, so only failed ones are at level `info`. */
const isSuccessfulProbe = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  isProbe(request) && statusCode < 400;
