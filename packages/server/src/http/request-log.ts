import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { isProbe } from './health.ts';
import type { PollState } from './poll-state.ts';
import { problemOf } from './request-state.ts';
import { traceIdOf } from './trace-id.ts';

/** The part of pino that request lines need. */
export interface RequestLogger {
  info(line: object, message: string): void;
  error(line: object, message: string): void;
}

/** The message of a line about a response that broke off. Clients may do that at any time, so it is no error. */
export const CLIENT_DISCONNECTED = 'client disconnected during the response';

interface Ended {
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  /** The route that was found, never the text that was sent. */
  readonly path: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly state: Pick<PollState, 'answer' | 'problem' | 'tokenId'>;
}

/**
 * The line of one request. It holds no token, no address, no query string and nothing of a lead. A client is known by
 * the id of its token.
 */
export function requestLine({ request, path, status, durationMs, state }: Ended) {
  return {
    method: request.method,
    path,
    status,
    // To the microsecond.
    durationMs: Math.round(durationMs * 1000) / 1000,
    code: state.problem?.code,
    leads: state.answer?.poll.page.leads.count,
    tokenId: state.tokenId,
    traceId: traceIdOf(request.headers['traceparent']),
  };
}

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
