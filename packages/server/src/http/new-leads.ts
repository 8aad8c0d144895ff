import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createPublicUrl, type PublicUrl } from './forwarded.ts';
import { isAllowedMethod } from './methods.ts';
import { createPollResponder, type PollOptions } from './poll-handler.ts';

export interface NewLeadsOptions extends PollOptions {
  /** The `{base_url}` in the Link header. Default: the one that the request was sent to. */
  readonly publicUrl?: PublicUrl;
}

/** `GET {base_url}/automation/new-leads` as a Fastify plugin. */
export async function newLeads(app: FastifyInstance, options: NewLeadsOptions): Promise<void> {
  const respond = createPollResponder(options);
  const publicUrl = options.publicUrl ?? createPublicUrl(undefined, app.prefix);
  mountPolls(app, (request, reply) => {
    const context = {
      id: request.id,
      address: request.ip ?? '',
      baseUrl: () => publicUrl(request),
      log: request.log,
    };
    void respond(request.raw, reply.raw, context);
  });
}

/**
 * Routes all methods of the endpoint's path to a handler that writes the response without Fastify's reply. The `logLevel` is
 * that of Fastify's own log lines for these requests.
 */
export function mountPolls(app: FastifyInstance, handle: HandleRoute, options: MountRouteOptions = {}): void {
  const hijack = hijackWith(handle);
  app.all(NEW_LEADS_PATH, {
    ...options,
    // In this hook, not in the handler, so that a 405 is sent before the body is read.
    onRequest: (request, reply, done) => (isAllowedMethod(request) ? done() : hijack(request, reply)),
    handler: hijack,
  });
}

export type HandleRoute = (request: FastifyRequest, reply: FastifyReply) => void;

export interface MountRouteOptions {
  readonly logLevel?: 'silent';
}

export const hijackWith =
  (handle: HandleRoute): HandleRoute =>
  (request, reply) => {
    reply.hijack();
    // Headers that hooks of the application have set, such as those of CORS.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    handle(request, reply);
  };
