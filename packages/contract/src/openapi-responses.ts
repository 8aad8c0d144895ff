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

/** Problems that only polls have, and those that only requests that send leads have. */
const POLL_ONLY: ReadonlySet<ProblemCode> = new Set(['invalid-query', 'professional-plan-required']);
const INTAKE_ONLY: ReadonlySet<ProblemCode> = new Set([
  'payload-too-large',
  'unsupported-media-type',
  'invalid-lead',
]);

export const POLL_CODES = PROBLEM_CODES.filter((code) => !INTAKE_ONLY.has(code));
/** It reads no query. */
export const CONSUMERS_CODES = POLL_CODES.filter((code) => code !== 'invalid-query');
export const INTAKE_CODES = PROBLEM_CODES.filter((code) => !POLL_ONLY.has(code));

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
