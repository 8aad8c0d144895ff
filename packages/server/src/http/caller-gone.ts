import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CallerGoneError } from '../store/store.ts';

/** As nginx counts them. */
const CLIENT_CLOSED_REQUEST = 499;

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
