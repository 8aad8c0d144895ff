/** The problem responses of the operations. */
import { exampleProblem } from './examples.ts';
import { type HeaderName, headersOf, headersOfStatus } from './headers.ts';
import type { MediaType, Reference, Response } from './openapi-types.ts';
import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from './problems.ts';

function problems(codes: readonly ProblemCode[]): MediaType {
  const examples = codes.map((code) => [
    code,
    { summary: PROBLEMS[code].title, value: exampleProblem(code) },
  ]);
  return { schema: { $ref: '#/components/schemas/Problem' }, examples: Object.fromEntries(examples) };
}

/** The problems of requests with a body. */
const BODY: readonly ProblemCode[] = ['payload-too-large', 'unsupported-media-type'];
const INTAKE_ONLY: readonly ProblemCode[] = ['invalid-lead', 'idempotency-key-reused', 'no-contact'];
const HOOKS_ONLY: readonly ProblemCode[] = ['invalid-hook', 'hook-host-not-allowed', 'too-many-hooks'];

const without = (...codes: readonly ProblemCode[]) => PROBLEM_CODES.filter((code) => !codes.includes(code));

export const POLL_CODES = without(...BODY, ...INTAKE_ONLY, ...HOOKS_ONLY);
/** It reads no query. */
export const CONSUMERS_CODES = POLL_CODES.filter((code) => code !== 'invalid-query');
export const INTAKE_CODES = without('invalid-query', 'professional-plan-required', ...HOOKS_ONLY);
export const SUBSCRIBE_CODES = without('invalid-query', ...INTAKE_ONLY);
export const RENAME_CODES = SUBSCRIBE_CODES.filter(
  (code) => code !== 'hook-host-not-allowed' && code !== 'too-many-hooks',
);
/** It needs no token. */
export const UNSUBSCRIBE_CODES = CONSUMERS_CODES.filter(
  (code) => ![401, 403].includes(PROBLEMS[code].status) && code !== 'user-not-found',
);

/** A response for each status of these problems. */
export function problemResponses(codes: readonly ProblemCode[]): Record<string, Response> {
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))];
  const responseOf = (status: number): Response => {
    const here = codes.filter((code) => PROBLEMS[code].status === status);
    return {
      description: here.map((code) => `- \`${code}\`: ${PROBLEMS[code].title}.`).join('\n'),
      headers: headersOfStatus(status),
      content: { [PROBLEM_MEDIA_TYPE]: problems(here) },
    };
  };
  return Object.fromEntries(statuses.map((status) => [status, responseOf(status)]));
}

const RATE_LIMIT: readonly HeaderName[] = ['ratelimit-policy', 'ratelimit'];

/** The headers of a successful response to a request that sends leads. */
export const acknowledgementHeaders = (): Record<string, Reference> => headersOf(RATE_LIMIT);
