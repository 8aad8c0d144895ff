import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Address, ListenError } from './listen.ts';
import { type Metrics, serveMetrics } from './metrics.ts';

export interface Addresses extends Address {
  readonly metricsAddress: Address | 'off';
}

export interface Running {
  /** The address that it listens on, with the actual port. */
  readonly url: string;
  readonly metricsUrl: string | undefined;
  /** Drains connections, stops listening, finishes running requests, closes the store. Bounded in time. */
  stop(): Promise<void>;
}

export interface LifecycleOptions {
  /** Requests that still run after this time are cut off. */
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
    // Before the metrics: if another instance runs, the error names the main address.
    await app.listen({ host: toOneAddress(host), port }).catch((cause) => {
      throw new ListenError({ host, port }, cause);
    });
    if (metricsAddress !== 'off') metricsServer = await serveMetrics(metrics, metricsAddress, app.log);
    const url = urlOf(app.server);
    const metricsUrl = metricsServer && `${urlOf(metricsServer)}/metrics`;
    return { url, metricsUrl, stop: () => stop(app, shutdownLimitMs) };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** For `localhost` Fastify would create two servers, and shut down only one of them gracefully. */
const toOneAddress = (host: string): string => (host === 'localhost' ? '127.0.0.1' : host);

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
