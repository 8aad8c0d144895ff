import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CallerGoneError } from '../store/store.ts';

/** As nginx counts them. */
export const CLIENT_CLOSED_REQUEST = 499;

/** Aborted when the caller hangs up before the answer is sent. */
export function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

/**
 * Tells of requests that were given up because their caller hung up. Nothing can be sent to it, so Fastify never calls
 * such an answer complete, and neither `onResponse` nor the request log would hear of it.
 */
export function onCallerGone(
  app: FastifyInstance,
  tell: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.addHook('onError', async (request, reply, error) => {
    if (!(error instanceof CallerGoneError)) return;
    reply.code(CLIENT_CLOSED_REQUEST);
    tell(request, reply);
  });
}
