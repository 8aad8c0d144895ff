import {
  type HeaderValues,
  type ParameterError,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  problemType,
} from '@leadtap/contract';

interface ProblemParts {
  readonly detail?: string;
  readonly errors?: readonly ParameterError[];
  readonly violatedPolicies?: readonly string[];
  readonly headers?: HeaderValues;
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
