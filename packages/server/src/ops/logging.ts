import type { FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import { toIso } from '../clock.ts';
import { routeOf } from '../http/request-log.ts';

/** Fastify's own words about a request would hold the caller's address and whatever was sent as a path. */
const serializers = {
  req: (request: FastifyRequest) => ({ method: request.method, path: routeOf(request) }),
};

/** Pino's own takes as long as all the rest of a line. */
const timestamp = () => `,"time":"${toIso(Date.now())}"`;

/** JSON lines, for machines to collect. What a request's line holds is decided in `request-line.ts`. */
export const makeLogger = (level: string, destination: { write(line: string): void }): Logger =>
  pino({ level, base: null, timestamp, serializers }, destination);
