/** The probes of load balancers and orchestrators. */
import { NO_COMPANY } from '../accounts/no-company.ts';
import { type OpenEndpoint, READ_METHODS } from './endpoint.ts';
import { jsonPayload } from './exchange.ts';
import { unavailable } from './problems.ts';

export interface HealthOptions {
  /** Rejects while polls cannot be answered. */
  readonly ping: () => Promise<void>;
  /** There is no company yet. */
  readonly isEmpty: () => Promise<boolean>;
  /** While it stops, a process is not ready but alive: a restart would cut off the last responses. */
  readonly isStopping: () => boolean;
}

/** `/livez`: the process runs. `/readyz`: it can answer polls, so a load balancer may send requests. The console shows the hint. */
export function healthEndpoints({ ping, isEmpty, isStopping }: HealthOptions): OpenEndpoint[] {
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
      const hint = (await isEmpty()) ? `${NO_COMPANY.message} ${NO_COMPANY.fix}` : undefined;
      return jsonPayload(exchange, 200, { status: 'ok', hint });
    }),
  ];
}
