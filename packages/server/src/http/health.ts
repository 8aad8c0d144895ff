/** The probes of load balancers and orchestrators. */
import { type OpenEndpoint, READ_METHODS } from './endpoint.ts';
import { jsonPayload } from './exchange.ts';
import { unavailable } from './problems.ts';

export interface HealthOptions {
  /** Rejects while polls cannot be answered. */
  readonly ping: () => Promise<void>;
  /** While it stops, a process is not ready but alive: a restart would cut off the last responses. */
  readonly isStopping: () => boolean;
}

/** `/livez`: the process runs. `/readyz`: it can answer polls, so a load balancer may send requests. */
export function healthEndpoints({ ping, isStopping }: HealthOptions): OpenEndpoint[] {
  const probe = (path: string, answer: OpenEndpoint['answer']): OpenEndpoint => ({
    path,
    methods: READ_METHODS,
    isAlsoAtRoot: true,
    isQuiet: true,
    answer,
  });
  return [
    probe('/livez', (exchange) => jsonPayload(exchange, 200, { status: 'ok' })),
    probe('/readyz', async (exchange) => {
      if (isStopping()) throw unavailable();
      try {
        await ping();
      } catch (error) {
        throw unavailable(error);
      }
      return jsonPayload(exchange, 200, { status: 'ok' });
    }),
  ];
}
