import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refusedMethods } from './methods.ts';
import { createPollResponder, type PollOptions } from './poll-handler.ts';
import { makePublicUrl, type PublicUrl } from './public-url.ts';

export interface NewLeadsOptions extends PollOptions {
  /** The `{base_url}` that the Link header shows. Default: as the request names it. */
  readonly publicUrl?: PublicUrl;
}

/** `GET {base_url}/automation/new-leads` as a Fastify plugin. */
export async function newLeads(app: FastifyInstance, options: NewLeadsOptions): Promise<void> {
  const respond = createPollResponder(options);
  const publicUrl = options.publicUrl ?? makePublicUrl(undefined, app.prefix);
  mountPolls(app, (request, reply) => {
    const context = {
      id: request.id,
      address: request.ip ?? '',
      baseUrl: () => publicUrl(request),
      logError: (line: object, message: string) => request.log.error(line, message),
      logDebug: (line: object, message: string) => request.log.debug(line, message),
    };
    void respond(request.raw, reply.raw, context);
  });
}

export interface MountOptions {
  /** Of Fastify's own lines about these requests. Default: as for other routes. */
  readonly logLevel?: 'silent';
}

/** Routes the requests of the endpoint's path, whatever their method, past Fastify's reply. */
export function mountPolls(
  app: FastifyInstance,
  handle: (request: FastifyRequest, reply: FastifyReply) => void,
  options: MountOptions = {},
): void {
  const take = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    // Headers that hooks of the application have set, such as those of CORS.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    handle(request, reply);
  };
  app.route({
    ...options,
    method: ['GET', 'HEAD'],
    url: NEW_LEADS_PATH,
    handler: take,
  });
  app.route({
    ...options,
    method: refusedMethods(app),
    url: NEW_LEADS_PATH,
    // Here and not in the handler: a body that is refused need not arrive first.
    onRequest: (request, reply, _done) => take(request, reply),
    handler: async () => undefined,
  });
}
