import process from 'node:process';
import type { Writable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import { toIso } from '../clock.ts';
import { isUnavailability } from '../http/problems.ts';
import { routeOf } from '../http/request-log.ts';

const serializers = {
  /** Fastify's own serializer would log the client's address and the path that was sent. */
  req: (request: FastifyRequest) => ({ method: request.method, path: routeOf(request) }),
  /**
   * Without a stack if the database or the identity provider is unavailable: the message says why. Without the fields in which
   * PostgreSQL quotes the row or the value that it refused: they contain lead data.
   */
  err: (error: unknown) => {
    if (!(error instanceof Error)) return error;
    const { stack, detail: _row, where: _value, ...fields } = pino.stdSerializers.err(error);
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

/** Writes to the file of a stream, such as stdout. A stream without a file gets each line itself. */
export function openLog(output: Writable & { readonly fd?: number }): { write(line: string): void } {
  if (output.fd === undefined) return output;
  const log = pino.destination({
    dest: output.fd,
    sync: true,
    minLength: MIN_WRITE_LENGTH,
    periodicFlush: MAX_DELAY_MS,
  });
  process.on('exit', () => log.flushSync());
  // Only a closed pipe is passed on. On a full disk, lines are lost, and polls are still answered.
  log.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') output.emit('error', error);
  });
  return log;
}
