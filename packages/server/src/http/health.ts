import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectOtherMethods } from './methods.ts';
import { unavailable } from './problems.ts';

export interface HealthOptions {
  /** Rejects while polls could not be answered. */
  readonly ready: () => Promise<void>;
}

/** By the route that was found, not by the text of the address: `/anything/livez` is no probe. */
const isRoute = ({ routeOptions }: FastifyRequest, path: string): boolean =>
  routeOptions.url?.endsWith(path) ?? false;

/** While it stops, a process is not ready but alive: a restart would cut off its last answers. */
export const isReadinessProbe = (request: FastifyRequest): boolean => isRoute(request, '/readyz');

export const isProbe = (request: FastifyRequest): boolean =>
  isRoute(request, '/livez') || isReadinessProbe(request);

/** `/livez`: the process runs. `/readyz`: it can answer polls; a load balancer should send some. */
export async function healthRoutes(app: FastifyInstance, { ready }: HealthOptions): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    try {
      await ready();
    } catch (error) {
      throw unavailable(error);
    }
    return { status: 'ok' };
  });
  rejectOtherMethods(app, '/livez');
  rejectOtherMethods(app, '/readyz');
}
