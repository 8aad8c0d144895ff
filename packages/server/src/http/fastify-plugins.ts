/** The endpoints as Fastify plugins, for applications that embed them, and as routes of the standalone server. */
import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createIntakeResponder, type IntakeOptions } from '../intake/endpoint.ts';
import { createPollResponder, type PollOptions } from '../poll/endpoint.ts';
import type { RequestContext } from './exchange.ts';
import { createPublicUrl, type PublicUrl } from './forwarded.ts';
import { isAllowedMethod } from './methods.ts';

export interface NewLeadsOptions extends PollOptions {
  /** The `{base_url}` in the Link header. Default: the one that the request was sent to. */
  readonly publicUrl?: PublicUrl;
}

/** `GET {base_url}/automation/new-leads` as a Fastify plugin. */
export async function newLeads(app: FastifyInstance, options: NewLeadsOptions): Promise<void> {
  const stop = new AbortController();
  app.addHook('preClose', async () => stop.abort());
  const stopSignal = options.stopSignal ? AbortSignal.any([options.stopSignal, stop.signal]) : stop.signal;
  const respond = createPollResponder({ ...options, stopSignal });
  const publicUrl = options.publicUrl ?? createPublicUrl(undefined, app.prefix);
  mountWithoutBody(app, (request, reply) => {
    respond(
      request.raw,
      reply.raw,
      contextOf(request, () => publicUrl(request)),
    );
  });
}

/** `POST {base_url}/leads` as a Fastify plugin. */
export async function leadsIntake(app: FastifyInstance, options: IntakeOptions): Promise<void> {
  const respond = createIntakeResponder(options);
  mountWithBody(app, (request, reply) => {
    respond(
      request.raw,
      reply.raw,
      contextOf(request, () => app.prefix),
    );
  });
}

const contextOf = (request: FastifyRequest, baseUrl: () => string): RequestContext => ({
  id: request.id,
  address: request.ip ?? '',
  baseUrl,
  log: request.log,
});

/**
 * For endpoints whose requests have no body. Routes all methods of the path to a handler that writes the response without Fastify's
 * reply. The `logLevel` is that of Fastify's own log lines for these requests.
 */
export function mountWithoutBody(
  app: FastifyInstance,
  handle: HandleRoute,
  options: MountRouteOptions = {},
  path: string = NEW_LEADS_PATH,
): void {
  const hijack = hijackWith(handle);
  app.all(path, {
    ...options,
    // In this hook, not in the handler, so that a 405 is sent before the body is read.
    onRequest: (request, reply, done) => (isAllowedMethod(request) ? done() : hijack(request, reply)),
    handler: hijack,
  });
}

/** The same for a handler that reads the body itself, without Fastify. */
export function mountWithBody(
  app: FastifyInstance,
  handle: HandleRoute,
  options: MountRouteOptions = {},
  path: string = LEADS_PATH,
): void {
  const hijack = hijackWith(handle);
  app.all(path, {
    ...options,
    // In the last hook before Fastify reads the body.
    preParsing: (request, reply) => hijack(request, reply),
    handler: hijack,
  });
}

type HandleRoute = (request: FastifyRequest, reply: FastifyReply) => void;

interface MountRouteOptions {
  readonly logLevel?: 'silent';
}

const hijackWith =
  (handle: HandleRoute): HandleRoute =>
  (request, reply) => {
    reply.hijack();
    // Headers that hooks of the application have set, such as those of CORS.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    handle(request, reply);
  };
