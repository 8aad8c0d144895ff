import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ProblemError } from './problems.ts';

const ANSWERED = ['GET', 'HEAD'];

export const methodNotAllowed = (): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: ANSWERED.join(', ') } });

export function requireMethod({ method = '' }: Pick<IncomingMessage, 'method'>): void {
  if (!ANSWERED.includes(method)) throw methodNotAllowed();
}

/** HTTP/1.1 requires a Host; HTTP/1.0 had none. */
export function requireHost({
  headers,
  httpVersion,
}: Pick<IncomingMessage, 'headers' | 'httpVersion'>): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new ProblemError('malformed-request', { detail: 'Send a Host header.' });
}

/** The methods that Fastify would route and that are answered with 405. */
export const refusedMethods = (app: FastifyInstance): string[] =>
  app.supportedMethods.filter((method) => !ANSWERED.includes(method));

/** Every other method of this path is refused before anything of the request is read. */
export function rejectOtherMethods(app: FastifyInstance, url: string): void {
  app.route({
    method: refusedMethods(app),
    url,
    onRequest: async () => {
      throw methodNotAllowed();
    },
    handler: async () => undefined,
  });
}
