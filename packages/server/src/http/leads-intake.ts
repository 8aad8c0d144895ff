import { LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance } from 'fastify';
import { createIntakeResponder, type IntakeOptions } from './intake-handler.ts';
import { type HandleRoute, hijackWith, type MountRouteOptions } from './new-leads.ts';

export interface LeadsIntakeOptions extends IntakeOptions {}

/** `POST {base_url}/leads` as a Fastify plugin. */
export async function leadsIntake(app: FastifyInstance, options: LeadsIntakeOptions): Promise<void> {
  const respond = createIntakeResponder(options);
  mountIntake(app, (request, reply) => {
    const context = {
      id: request.id,
      address: request.ip ?? '',
      baseUrl: () => app.prefix,
      log: request.log,
    };
    void respond(request.raw, reply.raw, context);
  });
}

/** Routes all methods of the path to a handler that reads the request and writes the response without Fastify. */
export function mountIntake(
  app: FastifyInstance,
  handle: HandleRoute,
  options: MountRouteOptions = {},
): void {
  const hijack = hijackWith(handle);
  app.all(LEADS_PATH, {
    ...options,
    // In the last hook before Fastify reads the body.
    preParsing: (request, reply) => hijack(request, reply),
    handler: hijack,
  });
}
