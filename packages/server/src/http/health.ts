import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectOtherMethods } from './methods.ts';
import { unavailable } from './problems.ts';

export interface HealthOptions {
  /** Rejects while polls cannot be answered. */
  readonly ping: () => Promise<void>;
}

/** By the matched route, not by the text of the URL: `/anything/livez` is not a probe. */
const isRoute = ({ routeOptions }: FastifyRequest, path: string): boolean =>
  routeOptions.url?.endsWith(path) ?? false;

/** During shutdown a process is not ready but alive: a restart would cut off the last responses. */
export const isReadinessProbe = (request: FastifyRequest): boolean => isRoute(request, '/readyz');

export const isProbe = (request: FastifyRequest): boolean =>
  isRoute(request, '/livez') || isReadinessProbe(request);

/** `/livez`: the process runs. `/readyz`: it can answer polls, so a load balancer may send requests. */
export async function healthRoutes(app: FastifyInstance, { ping }: HealthOptions): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  app.addHook('onRequest', rejectOtherMethods);
  app.all('/livez', async () => ({ status: 'ok' }));
  app.all('/readyz', async () => {
    try {
      await ping();
    } catch (error) {
      throw unavailable(error);
    }
    return { status: 'ok' };
  });
}
