import type { HttpServer } from '../http/server.ts';
import { type Address, ListenError, toOneAddress } from './listen.ts';

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

/** What can be started. */
export interface Startable {
  readonly publicServer: HttpServer;
  /** Of metrics and the status page. */
  readonly privateServer: HttpServer;
  onStart(): void;
  /** From now on the service is not ready. Resolves when it may stop listening. */
  beforeStop(): Promise<void>;
  /** Closes what requests use. */
  close(): Promise<void>;
}

export async function start(
  service: Startable,
  { host, port, metricsAddress }: Addresses,
  { shutdownLimitMs = SHUTDOWN_LIMIT_MS }: LifecycleOptions = {},
): Promise<Running> {
  const { publicServer, privateServer } = service;
  const stopOnce = async (): Promise<void> => {
    const limit = setTimeout(() => publicServer.closeConnections(), shutdownLimitMs);
    await service.beforeStop();
    await publicServer.close();
    clearTimeout(limit);
    privateServer.closeConnections();
    await privateServer.close();
    await service.close();
  };
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= stopOnce();
    return stopped;
  };
  try {
    const privateUrl = metricsAddress === 'off' ? undefined : await listen(privateServer, metricsAddress);
    const url = await listen(publicServer, { host, port });
    service.onStart();
    const metricsUrl = privateUrl && `${privateUrl}/metrics`;
    const statusUrl = privateUrl && `${privateUrl}/status`;
    return { url, metricsUrl, statusUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listen(server: HttpServer, address: Address): Promise<string> {
  try {
    return await server.listen(toOneAddress(address.host), address.port);
  } catch (cause) {
    throw new ListenError(address, cause);
  }
}
