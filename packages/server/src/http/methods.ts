import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ProblemError } from './problems.ts';

const ALLOWED = ['GET', 'HEAD'];

export const methodNotAllowed = (): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: ALLOWED.join(', ') } });

export function requireMethod({ method = '' }: Pick<IncomingMessage, 'method'>): void {
  if (!ALLOWED.includes(method)) throw methodNotAllowed();
}

/** HTTP/1.1 requires a Host header; HTTP/1.0 does not have one. */
export function requireHost({
  headers,
  httpVersion,
}: Pick<IncomingMessage, 'headers' | 'httpVersion'>): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new ProblemError('malformed-request', { detail: 'Send a Host header.' });
}

/** The methods that Fastify routes and that are answered with 405. */
export const otherMethods = (app: FastifyInstance): string[] =>
  app.supportedMethods.filter((method) => !ALLOWED.includes(method));

/** Answers all other methods of a path with 405, before the body is read. */
export function rejectOtherMethods(app: FastifyInstance, url: string): void {
  app.route({
    method: otherMethods(app),
    url,
    onRequest: async () => {
      throw methodNotAllowed();
    },
    handler: async () => undefined,
  });
}
