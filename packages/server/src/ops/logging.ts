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
