import { PROBLEM_MEDIA_TYPE } from '@leadtap/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TokenVerificationUnavailableError } from '../accounts/external-tokens.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { ProblemError, unavailable } from './problems.ts';
import { setProblem } from './request-state.ts';

/** On every answer, whatever it is. `nosniff` keeps browsers from taking an answer for another type than it says. */
export const commonHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/** The caller cannot do anything about these but try again later. */
const UNAVAILABLE = [StoreUnavailableError, UnusableDatabaseError, TokenVerificationUnavailableError];

/** Whatever was thrown, as a problem of the catalogue. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (UNAVAILABLE.some((kind) => error instanceof kind)) return unavailable(error);
  return new ProblemError(isRefusedByFastify(error) ? 'malformed-request' : 'internal-error', {
    cause: error,
  });
}

/** Only Fastify's own word: an error of a store may carry a status as well, and is not the caller's fault. */
function isRefusedByFastify(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return false;
  return String(error.code).startsWith('FST_ERR_') && Number(error.statusCode) < 500;
}

/** A problem as it leaves, beside the common headers. Only what the catalogue says is in it. */
export function problemAnswer(problem: ProblemError, requestId: string) {
  return {
    status: problem.statusCode,
    headers: {
      ...problem.parts.headers,
      'cache-control': 'no-store',
      'content-type': PROBLEM_MEDIA_TYPE,
    },
    // Bytes, because Fastify would add a charset to the type of a string, which RFC 9457 has no place for.
    body: Buffer.from(JSON.stringify(problem.toProblem(requestId))),
  };
}

/** The one error handler for requests that Fastify routes. `raw-errors.ts` answers what never became a request. */
export function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = asProblem(error);
  setProblem(request, problem);
  logFault(problem, (line, message) => request.log.error(line, message));
  const { status, headers, body } = problemAnswer(problem, request.id);
  return reply.code(status).headers(commonHeaders(request.id)).headers(headers).send(body);
}

/** The operator learns the cause of every 5xx. A service that stops is unavailable without one. */
export function logFault(problem: ProblemError, log: (line: object, message: string) => void): void {
  const isFault = problem.code === 'internal-error' || problem.cause !== undefined;
  if (problem.statusCode >= 500 && isFault)
    log({ err: problem.cause ?? problem, code: problem.code }, problem.message);
}

/** For an address that is not well-formed: no route is found, so Fastify writes no line to the request log. */
export function answerUnroutable(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  answerProblem(error, request, reply);
  request.log.info({ status: reply.statusCode, code: asProblem(error).code }, 'request');
}
