import { PROBLEM_MEDIA_TYPE } from '@leadtap/contract';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { TokenVerificationUnavailableError } from '../accounts/verification.ts';
import { CallerGoneError, StoreUnavailableError, UnusableDatabaseError } from '../store/store.ts';
import { ProblemError, unavailable } from './problems.ts';
import { stateOf } from './request-state.ts';

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

/** A problem as it leaves. Only what the catalogue says is in it. */
export function problemAnswer(problem: ProblemError, requestId: string) {
  return {
    status: problem.statusCode,
    headers: {
      ...problem.parts.headers,
      'x-request-id': requestId,
      'cache-control': 'no-store',
      'content-type': PROBLEM_MEDIA_TYPE,
    },
    // Bytes, because Fastify would add a charset to the type of a string, which RFC 9457 has no place for.
    body: Buffer.from(JSON.stringify(problem.toProblem(requestId))),
  };
}

/** The one error handler, for all that became a request of Fastify's. What did not is answered in `raw-errors.ts`. */
export function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Nobody is there to read it.
  if (error instanceof CallerGoneError) return reply.send();
  const problem = asProblem(error);
  stateOf(request).problem = problem;
  logFault(problem, request.log);
  const { status, headers, body } = problemAnswer(problem, request.id);
  return reply.code(status).headers(headers).send(body);
}

/** What is our fault is told to the operator, with its cause. */
export function logFault(problem: ProblemError, log: Pick<FastifyBaseLogger, 'error'>): void {
  if (problem.statusCode >= 500)
    log.error({ err: problem.cause ?? problem, code: problem.code }, problem.message);
}

/** For an address that is not well-formed: no route is found, so no request log would tell of it. */
export function answerUnroutable(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  answerProblem(error, request, reply);
  request.log.info({ status: reply.statusCode, code: stateOf(request).problem?.code }, 'request');
}
