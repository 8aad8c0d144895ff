import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Address } from './addresses.ts';
import { ListenError } from './listen-error.ts';
import { type Metrics, serveMetrics } from './metrics.ts';

export interface Addresses extends Address {
  readonly metricsAddress: Address | 'off';
}

export interface Running {
  /** Where it listens, with the port that was really given. */
  readonly url: string;
  readonly metricsUrl: string | undefined;
  /** Drains connections, stops listening, lets requests finish, closes the store. Bounded in time. */
  stop(): Promise<void>;
}

export interface LifecycleOptions {
  /** Requests that are still running after this long are cut off. */
  readonly shutdownLimitMs?: number;
}

export const SHUTDOWN_LIMIT_MS = 10_000;

export async function start(
  { app, metrics }: { readonly app: FastifyInstance; readonly metrics: Metrics },
  { host, port, metricsAddress }: Addresses,
  { shutdownLimitMs = SHUTDOWN_LIMIT_MS }: LifecycleOptions = {},
): Promise<Running> {
  try {
    let metricsServer: Server | undefined;
    app.addHook('onClose', async () => {
      metricsServer?.close();
      metricsServer?.closeAllConnections();
    });
    // Before the metrics: when two instances are started, the address that both want is the one that is reported.
    await app.listen({ host: oneAddress(host), port }).catch((cause) => {
      throw new ListenError({ host, port }, cause);
    });
    metricsServer = await listenForMetrics(metrics, metricsAddress, app.log);
    const url = urlOf(app.server);
    const metricsUrl = metricsServer && `${urlOf(metricsServer)}/metrics`;
    return { url, metricsUrl, stop: () => stop(app, shutdownLimitMs) };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Fastify would make two servers of the name, and stop only one of them in an orderly way. */
const oneAddress = (host: string): string => (host === 'localhost' ? '127.0.0.1' : host);

async function listenForMetrics(
  metrics: Metrics,
  address: Address | 'off',
  log: FastifyBaseLogger,
): Promise<Server | undefined> {
  if (address === 'off') return undefined;
  try {
    return await serveMetrics(metrics, address, log);
  } catch (cause) {
    throw new ListenError(address, cause);
  }
}

function urlOf(server: Pick<Server, 'address'>): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function stop(app: FastifyInstance, limitMs: number): Promise<void> {
  const limit = setTimeout(() => app.server.closeAllConnections(), limitMs);
  try {
    await app.close();
  } finally {
    clearTimeout(limit);
  }
}
