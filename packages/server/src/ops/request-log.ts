import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { isProbe } from '../http/health.ts';
import { stateOf } from '../http/request-state.ts';

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

function describe(request: FastifyRequest, reply: FastifyReply) {
  const { token, answer, problem } = stateOf(request);
  return {
    method: request.method,
    path: routeOf(request),
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    code: problem?.code,
    leads: answer?.poll.page.leads.length,
    tokenId: token?.tokenId,
    traceId: traceIdOf(request.headers['traceparent']),
  };
}

/** W3C trace context; what is not well-formed is ignored, as the standard asks. */
function traceIdOf(traceparent: string | string[] | undefined): string | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(
    traceparent,
  )?.[1];
}
