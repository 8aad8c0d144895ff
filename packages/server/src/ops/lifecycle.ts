import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
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
  /** Stops accepting, lets requests finish, closes the store. Bounded in time. */
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
    const metricsServer = await listenForMetrics(metrics, metricsAddress, app.log);
    app.addHook('onClose', async () => {
      metricsServer?.close();
      metricsServer?.closeAllConnections();
    });
    await app.listen({ host: oneAddress(host), port }).catch((cause) => {
      throw new ListenError({ host, port }, cause);
    });
    const open = openConnections(app.server);
    const url = urlOf(app.server);
    const metricsUrl = metricsServer && `${urlOf(metricsServer)}/metrics`;
    return { url, metricsUrl, stop: () => stop(app, open, shutdownLimitMs) };
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

function openConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

async function stop(app: FastifyInstance, open: ReadonlySet<Socket>, limitMs: number): Promise<void> {
  // Browsers and load balancers connect ahead of need. Node takes such a connection for busy, and would wait for it.
  for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  const limit = setTimeout(() => {
    for (const socket of open) socket.destroy();
  }, limitMs);
  try {
    await app.close();
  } finally {
    clearTimeout(limit);
  }
}
