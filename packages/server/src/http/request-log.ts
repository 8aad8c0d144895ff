import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { isProbe } from './health.ts';
import { CLIENT_DISCONNECTED, requestLine } from './request-line.ts';
import { problemOf } from './request-state.ts';

/** Has Fastify write the same line for each request that it routes. */
export class RequestLog extends Fastify.LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = requestLine({
      request: request.raw,
      path: routeOf(request),
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      state: { problem: problemOf(request) },
    });
    if (error) request.log.info({ ...line, err: error }, CLIENT_DISCONNECTED);
    else request.log[isRoutine(request, reply) ? 'debug' : 'info'](line, 'request');
  }
}

/** Probes come every few seconds and say nothing while all is well. */
const isRoutine = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  isProbe(request) && statusCode < 400;

/**
 * The route that was found, never the text that was sent: people put tokens and addresses into paths by mistake,
 * `/automation/new-leads&access_token=…` for one.
 */
export const routeOf = ({ is404, routeOptions }: FastifyRequest): string | undefined =>
  is404 ? undefined : routeOptions?.url;
