/** The problem responses of the operations. */
import { exampleProblem } from './examples.ts';
import { type HeaderName, headersOf, headersOfStatus } from './headers.ts';
import type { MediaType, Reference, Response } from './openapi-types.ts';
import {
  PROBLEM_CODES,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type ProblemCode,
  type ProblemEntry,
  type ProblemOperation,
} from './problems.ts';

function problems(codes: readonly ProblemCode[]): MediaType {
  const examples = codes.map((code) => [
    code,
    { summary: PROBLEMS[code].title, value: exampleProblem(code) },
  ]);
  return { schema: { $ref: '#/components/schemas/Problem' }, examples: Object.fromEntries(examples) };
}

/** A response for each status of the problems of an operation. */
export function problemResponses(operation: ProblemOperation): Record<string, Response> {
  const codes = PROBLEM_CODES.filter((code) => {
    const { operations }: ProblemEntry = PROBLEMS[code];
    return operations.includes(operation);
  });
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
