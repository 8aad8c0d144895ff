import { readFileSync } from 'node:fs';
import type { FastifyBaseLogger } from 'fastify';

/** For the database, its files, Redis, the metrics, the identity provider, and Node itself. */
const RESERVED_FILES = 128;

/**
 * How many connections the limit of open files leaves room for; undefined where the system does not say, as on macOS.
 * At the limit itself the system would leave clients waiting in its queue, and nothing would be logged.
 */
export function connectionLimit(file = '/proc/self/limits'): number | undefined {
  const openFiles = Number(/^Max open files +(\d+)/m.exec(readIfThere(file))?.[1]);
  if (Number.isNaN(openFiles)) return undefined;
  return Math.max(openFiles - RESERVED_FILES, Math.floor(openFiles / 2));
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const MINUTE_MS = 60_000;

/** Logs dropped connections, at most once a minute. */
export function makeDropLog(
  log: Pick<FastifyBaseLogger, 'warn'>,
  maxConnections: number | undefined,
  now: () => number = () => performance.now(),
): () => void {
  let dropped = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    dropped += 1;
    if (now() - loggedAt < MINUTE_MS) return;
    log.warn(
      { dropped, maxConnections },
      'connections were dropped: too many are open, raise the limit of open files or add instances',
    );
    dropped = 0;
    loggedAt = now();
  };
}
