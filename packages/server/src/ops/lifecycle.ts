import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Address, ListenError, toOneAddress } from './listen.ts';
import { listenPrivately, type PrivatePages } from './private-listener.ts';

export interface Addresses extends Address {
  readonly metricsAddress: Address | 'off';
}

export interface Running {
  /** The address that it listens on, with the actual port. */
  readonly url: string;
  readonly metricsUrl: string | undefined;
  /** The operator's page. */
  readonly statusUrl: string | undefined;
  /** Drains connections, stops listening, finishes running requests, closes the store. Bounded in time. */
  stop(): Promise<void>;
}

export interface LifecycleOptions {
  /** Requests that still run after this time are cut off. */
  readonly shutdownLimitMs?: number;
}

export const SHUTDOWN_LIMIT_MS = 10_000;

export async function start(
  { app, ...pages }: { readonly app: FastifyInstance } & PrivatePages,
  { host, port, metricsAddress }: Addresses,
  { shutdownLimitMs = SHUTDOWN_LIMIT_MS }: LifecycleOptions = {},
): Promise<Running> {
  try {
    let privateServer: Server | undefined;
    app.addHook('onClose', async () => {
      privateServer?.close();
      privateServer?.closeAllConnections();
    });
    if (metricsAddress !== 'off') privateServer = await listenPrivately(pages, metricsAddress, app.log);
    // Last, because Fastify logs that it listens.
    await app.listen({ host: toOneAddress(host), port }).catch((cause) => {
      throw new ListenError({ host, port }, cause);
    });
    const url = urlOf(app.server);
    const privateUrl = privateServer && urlOf(privateServer);
    const metricsUrl = privateUrl && `${privateUrl}/metrics`;
    const statusUrl = privateUrl && `${privateUrl}/status`;
    return { url, metricsUrl, statusUrl, stop: () => stop(app, shutdownLimitMs) };
  } catch (error) {
    await app.close();
    throw error;
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
