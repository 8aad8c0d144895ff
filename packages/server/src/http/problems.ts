import {
  type HeaderValues,
  type LeadError,
  type ParameterError,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  problemType,
} from '@leadtap/contract';
import { TokenVerificationUnavailableError } from '../accounts/external-tokens.ts';
import type { VerifiedToken } from '../accounts/records.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../sql/errors.ts';

export interface ProblemParts {
  readonly detail?: string;
  readonly errors?: readonly (ParameterError | LeadError)[];
  readonly violatedPolicies?: readonly string[];
  readonly headers?: HeaderValues & { readonly connection?: 'close' };
  /** For the log, never for the client. */
  readonly cause?: unknown;
  /** The token that was refused, with a valid signature, for the status page, never for the client. */
  readonly token?: VerifiedToken | undefined;
  /** Whether the request is held for the operator. */
  readonly held?: boolean;
}

/** An error response, by its code in the contract. */
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

  /** The same problem of a request that is held, or not. */
  asHeld(held: boolean): ProblemError {
    const { detail = PROBLEMS[this.code].detail } = this.parts;
    return new ProblemError(this.code, {
      ...this.parts,
      detail: held ? `${detail} ${HELD_DETAIL}` : detail,
      held,
    });
  }
}

const HELD_DETAIL =
  'This request is held for 30 days: the operator can accept it with `leadtap leads refused`.';

const RETRY_AFTER_S = 5;

export const unavailable = (cause?: unknown, detail?: string): ProblemError =>
  new ProblemError('unavailable', {
    cause,
    ...(detail !== undefined && { detail }),
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  });

/** Errors of the database or the identity provider that end without a change to Leadtap. The client retries. */
const UNAVAILABLE = [StoreUnavailableError, UnusableDatabaseError, TokenVerificationUnavailableError];

export const isUnavailability = (error: unknown): error is Error =>
  UNAVAILABLE.some((kind) => error instanceof kind);

/** Maps any thrown error to a problem of the contract. */
export function toProblemError(error: unknown, unavailableDetail?: string): ProblemError {
  if (error instanceof ProblemError) return error;
  if (isUnavailability(error)) return unavailable(error, unavailableDetail);
  return new ProblemError('internal-error', { cause: error });
}

/** The response for a problem, without the headers that every response has. */
export function problemResponse({ code, parts }: ProblemError, requestId: string) {
  const { status, title, detail } = PROBLEMS[code];
  const { headers, errors, violatedPolicies, held } = parts;
  const problem: Problem = {
    type: problemType(code),
    title,
    status,
    detail: parts.detail ?? detail,
    code,
    requestId,
    ...(errors && { errors: [...errors] }),
    ...(violatedPolicies && { violatedPolicies: [...violatedPolicies] }),
    ...(held !== undefined && { held }),
  };
  return {
    status,
    headers: { ...headers, 'cache-control': 'no-store', 'content-type': PROBLEM_MEDIA_TYPE },
    // The cast keeps the type argument of Buffer, which TypeScript before 5.7 does not know, out of the declarations.
    body: Buffer.from(JSON.stringify(problem)) as Buffer,
  };
}
