import type { FastifyInstance } from 'fastify';
import { ProblemError } from './problems.ts';

const ANSWERED = ['GET', 'HEAD'];

export const methodNotAllowed = (): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: ANSWERED.join(', ') } });

/** Every other method of this path is refused before anything of the request is read. */
export function onlyAnswers(app: FastifyInstance, url: string): void {
  app.route({
    method: app.supportedMethods.filter((method) => !ANSWERED.includes(method)),
    url,
    onRequest: async () => {
      throw methodNotAllowed();
    },
    handler: async () => undefined,
  });
}
