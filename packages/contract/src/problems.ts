import { type Static, Type } from 'typebox';
import { MAX_HEADER_BYTES } from './limits.ts';

interface ProblemEntry {
  readonly status: number;
  readonly title: string;
  /** The default text for the client, if the case has no more specific one. Says what to do. */
  readonly detail: string;
}

/**
 * Every problem the service can answer with. The code is the contract: it never changes its meaning, and
 * docs/errors.md has a section for each.
 */
export const PROBLEMS = {
  'invalid-query': {
    status: 400,
    title: 'The query is not valid',
    detail: 'Correct the parameters listed under `errors`.',
  },
  'malformed-request': {
    status: 400,
    title: 'The request is malformed',
    detail: 'The request is not well-formed HTTP or its address is not well-formed. Check its encoding.',
  },
  'token-missing': {
    status: 401,
    title: 'An access token is required',
    detail: 'Send the header `Authorization: Bearer <ACCESS_TOKEN>`.',
  },
  'token-invalid': {
    status: 401,
    title: 'The access token is not valid',
    detail: 'The token was not accepted. Ask the operator of this service for a new one.',
  },
  'token-expired': {
    status: 401,
    title: 'The access token has expired',
    detail: 'The token was valid but has expired. Ask the operator of this service for a new one.',
  },
  'token-revoked': {
    status: 401,
    title: 'The access token was revoked',
    detail: 'The token was revoked. Ask the operator of this service for a new one.',
  },
  'professional-plan-required': {
    status: 403,
    title: 'The Professional plan is required',
    detail: 'Polling new leads is part of the Professional plan. Upgrade the plan of this user.',
  },
  'user-not-found': {
    status: 404,
    title: 'The user does not exist',
    detail: 'The token is valid, but its user does not exist (any more).',
  },
  'no-such-resource': {
    status: 404,
    title: 'There is nothing at this address',
    detail: 'The new leads are at {base_url}/automation/new-leads. Check the base address and its path.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed here',
    detail: 'Use one of the methods in the `Allow` header.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    detail: 'Send the whole request at once and try again.',
  },
  'rate-limit-exceeded': {
    status: 429,
    title: 'Too many requests',
    detail: 'Wait for the seconds given in `Retry-After`, then continue. Polling every 2 minutes is enough.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The request headers are too large',
    detail: `Send fewer or shorter headers: together at most ${MAX_HEADER_BYTES / 1024} KiB.`,
  },
  'internal-error': {
    status: 500,
    title: 'Something went wrong on our side',
    detail: 'The request was valid. Try again. If the error continues, give the operator the request id.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer right now',
    detail: 'Nothing is lost. Try again after the seconds given in `Retry-After`.',
  },
} as const satisfies Record<string, ProblemEntry>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

/** The `type` of a problem: a stable name that is the same in every installation. */
export const problemType = (code: ProblemCode): string => `urn:problem-type:leadtap:${code}`;

export const ParameterError = Type.Object(
  {
    parameter: Type.String({ description: 'The query parameter.' }),
    detail: Type.String({ description: 'The error, with a valid example.' }),
  },
  { additionalProperties: false, description: 'The error of one query parameter.' },
);

export type ParameterError = Static<typeof ParameterError>;

/** RFC 9457 problem details. */
export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri', description: 'Names the kind of problem.' }),
    title: Type.String({ description: 'The kind of problem in words, always the same.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status of the answer.' }),
    detail: Type.String({ description: 'What happened this time and what to do.' }),
    code: Type.String({ enum: [...PROBLEM_CODES], description: 'The name to use in programs.' }),
    requestId: Type.String({ description: 'The same as in `X-Request-Id`.' }),
    errors: Type.Optional(
      Type.Array(ParameterError, { description: 'With `invalid-query`: every invalid parameter at once.' }),
    ),
    violatedPolicies: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With `rate-limit-exceeded`: the limits that were exceeded.',
      }),
    ),
  },
  { description: 'A problem of RFC 9457.' },
);

export type Problem = Static<typeof Problem>;
