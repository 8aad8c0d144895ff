import type { Problem, ProblemCode, WrittenLead } from './contract.ts';
import type { RateLimit } from './rate-limits.ts';

/**
 * The code of the problem, as the service names it; else what the client saw: no whole answer
 * (`connection-failed`), none in time (`timed-out`), a success that is not of Leadtap (`not-leads`), or an
 * error of something that is not Leadtap, such as a proxy (`http-502`).
 */
export type ErrorCode = ProblemCode | `http-${number}` | 'connection-failed' | 'timed-out' | 'not-leads';

export interface ErrorFacts {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status?: number | undefined;
  readonly problem?: Problem | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly rateLimits?: readonly RateLimit[];
  readonly sent?: readonly WrittenLead[];
  readonly cause?: unknown;
}

/** A poll, or a call of `sendLeads`, that failed. */
export class LeadtapError extends Error {
  override readonly name: string = 'LeadtapError';
  readonly code: ErrorCode;
  /** The HTTP status; undefined when there was no response. */
  readonly status: number | undefined;
  /** All that the service said about it (RFC 9457). */
  readonly problem: Problem | undefined;
  /** How long the service asks you to wait. */
  readonly retryAfterMs: number | undefined;
  readonly rateLimits: readonly RateLimit[];
  /** What a failed `sendLeads` has stored: the leads of its earlier requests, the first of the array. */
  readonly sent: readonly WrittenLead[];

  constructor(facts: ErrorFacts) {
    const { code, message, status, problem, retryAfterMs, rateLimits = [], sent = [], cause } = facts;
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
    this.rateLimits = rateLimits;
    this.sent = sent;
  }

  /** Whether a retry of the same request may succeed without any change by the caller. */
  get isTransient(): boolean {
    const { status } = this;
    return status === undefined || status < 400 || status >= 500 || TRANSIENT.includes(status);
  }
}

const TRANSIENT = [408, 425, 429];

/** 401: the token is missing, not valid, expired or revoked. */
export class UnauthorizedError extends LeadtapError {
  override readonly name = 'UnauthorizedError';
}

/** 403: the user is not on the Professional plan, or the token lacks the scope. */
export class ForbiddenError extends LeadtapError {
  override readonly name = 'ForbiddenError';
}

/** 404: the user of the token does not exist, or nothing is at that address. */
export class NotFoundError extends LeadtapError {
  override readonly name = 'NotFoundError';
}

/** 429: too many requests. `retryAfterMs` says how long to wait. */
export class RateLimitError extends LeadtapError {
  override readonly name = 'RateLimitError';
}

const OF_STATUS: Readonly<Record<number, typeof LeadtapError>> = {
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  429: RateLimitError,
};

export const errorOf = (facts: ErrorFacts): LeadtapError =>
  new (OF_STATUS[facts.status ?? 0] ?? LeadtapError)(facts);
