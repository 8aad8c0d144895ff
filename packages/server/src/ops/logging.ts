import type { Writable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import { toIso } from '../clock.ts';
import { isUnavailability } from '../http/problems.ts';
import { routeOf } from '../http/request-log.ts';

const serializers = {
  /** Fastify's own serializer would log the client's address and the path that was sent. */
  req: (request: FastifyRequest) => ({ method: request.method, path: routeOf(request) }),
  /** Without a stack if the database or the identity provider is unavailable: the message says why. */
  err: (error: unknown) => {
    if (!(error instanceof Error)) return error;
    const { stack, ...fields } = pino.stdSerializers.err(error);
    return isUnavailability(error) ? fields : { ...fields, stack };
  },
};

/** Pino's own timestamp takes as long as the rest of a line. */
const timestamp = () => `,"time":"${toIso(Date.now())}"`;

/** Logs JSON lines. `http/request-log.ts` defines the line of a request. */
export const makeLogger = (level: string, destination: { write(line: string): void }): Logger =>
  pino({ level, base: null, timestamp, serializers }, destination);

/** A write takes as long as the rest of a line, so lines are collected: this many characters, or for this long. */
const MIN_WRITE_LENGTH = 4096;
const MAX_DELAY_MS = 100;

export interface LogDestination {
  write(line: string): void;
  /** Writes the collected lines. Call it when the process exits. */
  flushSync?(): void;
}

/** Writes to the file of a stream, such as stdout. A stream without a file gets each line itself. */
export function openLog(output: Writable & { readonly fd?: number }): LogDestination {
  if (output.fd === undefined) return output;
  const log = pino.destination({
    dest: output.fd,
    sync: true,
    minLength: MIN_WRITE_LENGTH,
    periodicFlush: MAX_DELAY_MS,
  });
  // Only a closed pipe is passed on. On a full disk, lines are lost, and polls are still answered.
  log.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') output.emit('error', error);
  });
  return log;
}
