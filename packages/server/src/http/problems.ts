import {
  type ParameterError,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  problemType,
} from '@leadtap/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JwksUnavailableError } from '../accounts/external-tokens.ts';
import { StoreUnavailableError } from '../store/store.ts';

interface ProblemParts {
  readonly detail?: string;
  readonly errors?: readonly ParameterError[];
  readonly violatedPolicies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log, never for the caller. */
  readonly cause?: unknown;
}

/** A way a request can end other than well. Thrown anywhere below the error handler. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: ProblemCode;
  readonly parts: ProblemParts;

  constructor(code: ProblemCode, parts: ProblemParts = {}) {
    super(PROBLEMS[code].title, { cause: parts.cause });
    this.code = code;
    this.parts = parts;
  }

  get statusCode(): number {
    return PROBLEMS[this.code].status;
  }

  toProblem(requestId: string): Problem {
    const { status, title, detail } = PROBLEMS[this.code];
    const { errors, violatedPolicies } = this.parts;
    return {
      type: problemType(this.code),
      title,
      status,
      detail: this.parts.detail ?? detail,
      code: this.code,
      requestId,
      ...(errors && { errors: [...errors] }),
      ...(violatedPolicies && { violatedPolicies: [...violatedPolicies] }),
    };
  }
}

export const unavailable = (cause?: unknown, retryAfterS = 5): ProblemError =>
  new ProblemError('unavailable', { cause, headers: { 'retry-after': String(retryAfterS) } });

/** Whatever was thrown, as a problem of the catalogue. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof StoreUnavailableError || error instanceof JwksUnavailableError)
    return unavailable(error);
  return new ProblemError(isRefusedByFastify(error) ? 'malformed-request' : 'internal-error', {
    cause: error,
  });
}

/** Only Fastify's own word: an error of a store may carry a status as well, and is not the caller's fault. */
function isRefusedByFastify(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return false;
  return String(error.code).startsWith('FST_ERR_') && Number(error.statusCode) < 500;
}

/** The one error handler: every problem leaves through here, and only what the catalogue says leaves. */
export function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = asProblem(error);
  request.leadtapProblem = problem;
  if (problem.statusCode >= 500)
    request.log.error({ err: problem.cause ?? problem, code: problem.code }, problem.message);
  return (
    reply
      .code(problem.statusCode)
      .headers({ ...problem.parts.headers, 'x-request-id': request.id, 'cache-control': 'no-store' })
      .type(PROBLEM_MEDIA_TYPE)
      // Bytes, because Fastify would add a charset to the type of a string, which RFC 9457 has no place for.
      .send(Buffer.from(JSON.stringify(problem.toProblem(request.id))))
  );
}
