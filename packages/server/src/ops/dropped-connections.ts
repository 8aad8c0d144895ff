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

/** Logs the first dropped connection at once, and those that follow together, once a minute. */
export function makeDropLog(
  log: Pick<FastifyBaseLogger, 'warn'>,
  maxConnections: number | undefined,
): () => void {
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
