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
import type { VerifiedToken } from '../accounts/tokens.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../store/errors.ts';

export interface ProblemParts {
  readonly detail?: string;
  readonly errors?: readonly (ParameterError | LeadError)[];
  readonly violatedPolicies?: readonly string[];
  readonly headers?: HeaderValues & { readonly connection?: 'close' };
  /** For the log, never for the client. */
  readonly cause?: unknown;
  /** The revoked or expired token, for the status page, never for the client. */
  readonly token?: VerifiedToken | undefined;
  /** What an invalid token says that names a key which is not known here. Anybody can have written it. */
  readonly unverifiedToken?: VerifiedToken | undefined;
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
}

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
export function toProblemError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (isUnavailability(error)) return unavailable(error);
  return new ProblemError(isClientErrorOfFastify(error) ? 'malformed-request' : 'internal-error', {
    cause: error,
  });
}

/** By Fastify's error codes: an error of a store may have a `statusCode` too, and is not the client's fault. */
function isClientErrorOfFastify(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return false;
  return String(error.code).startsWith('FST_ERR_') && Number(error.statusCode) < 500;
}

/** On every response. `nosniff` keeps browsers from guessing another media type. */
export const commonHeaders = (requestId: string) => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/** The response for a problem, without the common headers. */
export function problemResponse({ code, parts }: ProblemError, requestId: string) {
  const { status, title, detail } = PROBLEMS[code];
  const { headers, errors, violatedPolicies } = parts;
  const problem: Problem = {
    type: problemType(code),
    title,
    status,
    detail: parts.detail ?? detail,
    code,
    requestId,
    ...(errors && { errors: [...errors] }),
    ...(violatedPolicies && { violatedPolicies: [...violatedPolicies] }),
  };
  return {
    status,
    headers: { ...headers, 'cache-control': 'no-store', 'content-type': PROBLEM_MEDIA_TYPE },
    // Bytes: Fastify would add a charset to the media type of a string, which RFC 9457 does not define.
    // The cast keeps the type argument of Buffer, which TypeScript before 5.7 does not know, out of the declarations.
    body: Buffer.from(JSON.stringify(problem)) as Buffer,
  };
}
