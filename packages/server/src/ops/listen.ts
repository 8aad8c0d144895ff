import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Logger } from 'pino';

/** An address to listen on. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address is in use, or this process may not use it. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly address: Address;

  constructor(address: Address, cause: unknown) {
    super(`cannot listen on ${address.host}:${address.port}`, { cause });
    this.address = address;
  }
}

/** `localhost` may be the IPv6 address alone, which clients that use 127.0.0.1 do not reach. */
export const toOneAddress = (host: string): string => (host === 'localhost' ? '127.0.0.1' : host);

/**
 * Listens on all addresses at once, then closes them. Rejects with a `ListenError` for the first one that cannot be used, so that
 * a start that must fail fails before it has created a database or a key.
 */
export async function probeAddresses(addresses: readonly Address[]): Promise<void> {
  const servers: Server[] = [];
  try {
    for (const address of addresses) {
      const server = createServer().listen(address.port, toOneAddress(address.host));
      await once(server, 'listening').catch((cause) => {
        throw new ListenError(address, cause);
      });
      servers.push(server);
    }
  } finally {
    await Promise.all(servers.map((server) => once(server.close(), 'close')));
  }
}

/** For the database, its files, Redis, the metrics, the identity provider, and Node itself. */
const RESERVED_FILES = 128;

/** Of the open files, at most. */
const HOOK_SHARE = 1 / 8;

export interface SocketLimits {
  /** Without this limit, clients would wait in the system's queue, and nothing would be logged. */
  readonly maxConnections: number;
  readonly maxHookSockets: number;
}

/** What the limit of open files allows; undefined where the system does not report it, as on macOS. */
export function socketLimits(hookSockets: number, file = '/proc/self/limits'): SocketLimits | undefined {
  const maxFiles = Number(/^Max open files +(\d+)/m.exec(readIfExists(file))?.[1]);
  if (Number.isNaN(maxFiles)) return undefined;
  const maxHookSockets = Math.min(hookSockets, Math.floor(maxFiles * HOOK_SHARE));
  const others = Math.max(maxFiles - RESERVED_FILES, Math.floor(maxFiles / 2));
  return { maxConnections: others - maxHookSockets, maxHookSockets };
}

/** The rest is for other requests: polls that are not held, leads that are sent, probes. */
const MAX_HELD_SHARE = 0.8;

/** Each long poll occupies a connection, and those beyond the limit of connections are dropped. */
export const longPollLimit = (configured: number, maxConnections = Number.POSITIVE_INFINITY): number =>
  Math.min(configured, Math.floor(maxConnections * MAX_HELD_SHARE));

function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const MINUTE_MS = 60_000;

/** Logs the first dropped connection at once, and further ones together, once a minute. */
export function createDropLog(log: Pick<Logger, 'warn'>, maxConnections: number | undefined): () => void {
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  const logDropped = () => {
    timer = undefined;
    if (dropped === 0) return;
    log.warn(
      { dropped, maxConnections },
      'connections were dropped: too many are open, raise the limit of open files or add instances',
    );
    dropped = 0;
    timer = setTimeout(logDropped, MINUTE_MS).unref();
  };
  return () => {
    dropped += 1;
    if (timer === undefined) logDropped();
  };
}
