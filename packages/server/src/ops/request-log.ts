import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isProbe } from '../http/health.ts';
import type { ServedPoll } from '../http/lane/express-lane.ts';
import { stateOf } from '../http/request-state.ts';
import { logPoll } from './poll-log.ts';
import { traceIdOf } from './trace-id.ts';

/**
 * One line for each request. Nothing that names a person or opens a door is in it: no token, no address, no
 * query string (which may hold either), no lead. A caller is known by the id of the token.
 */
export class RequestLog extends Fastify.LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = describe(request, reply);
    if (error) request.log.error({ ...line, err: error }, 'request broke off');
    else request.log[isRoutine(request, reply) ? 'debug' : 'info'](line, 'request');
  }

  /** The same line for a poll that Fastify has not seen. */
  polled(served: ServedPoll, log: Logger): void {
    const { id, path, state, status, brokeOff } = served;
    if (state.problem === undefined && !brokeOff) {
      logPoll(log, served);
      return;
    }
    const line = {
      requestId: id,
      method: 'GET',
      path,
      status,
      durationMs: toTheMicrosecond(served.durationMs),
      code: state.problem?.code,
      leads: state.answer?.poll.page.leads.count,
      tokenId: state.tokenId,
      traceId: traceIdOf(served.traceparent),
    };
    if (brokeOff) log.error(line, 'request broke off');
    else log.info(line, 'request');
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

const toTheMicrosecond = (ms: number): number => Math.round(ms * 1000) / 1000;

function describe(request: FastifyRequest, reply: FastifyReply) {
  const { tokenId, answer, problem } = stateOf(request);
  return {
    method: request.method,
    path: routeOf(request),
    status: reply.statusCode,
    durationMs: toTheMicrosecond(reply.elapsedTime),
    code: problem?.code,
    leads: answer?.poll.page.leads.count,
    tokenId,
    traceId: traceIdOf(request.headers['traceparent']),
  };
}
