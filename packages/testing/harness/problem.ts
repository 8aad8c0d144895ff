import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode, problemType } from '@leadtap/contract';
import { Problem } from '@leadtap/contract/schemas';
import { Value } from 'typebox/value';
import { expect } from 'vitest';

/** An answer however it was fetched: by `fetch`, by `inject`, or from a bare socket. */
type Answer =
  | Response
  | {
      readonly status?: number;
      readonly statusCode?: number;
      readonly headers: Readonly<Record<string, unknown>>;
      readonly body: string;
    };

const KEYS = ['type', 'title', 'status', 'detail', 'code', 'requestId'];

/** What a problem has beside the keys that all have. */
const EXTRA_KEYS: Partial<Record<ProblemCode, readonly string[]>> = {
  'invalid-query': ['errors'],
  'id-of-another-person': ['errors'],
  'invalid-lead': ['errors'],
  'no-contact': ['errors'],
  'rate-limit-exceeded': ['violatedPolicies'],
};

/** Everything that holds for every problem; gives its body for what holds for this one. */
export async function expectProblem(answer: Answer, code: ProblemCode): Promise<Problem> {
  const { status, headers, body } = await plain(answer);
  const problem: unknown = JSON.parse(body);
  expect(problem).toMatchObject({
    type: problemType(code),
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: expect.stringMatching(/^[A-Z`].{10,}\.$/),
    code,
    requestId: headers['x-request-id'],
  });
  expect(status).toBe(PROBLEMS[code].status);
  expect(headers).toMatchObject({
    'content-type': PROBLEM_MEDIA_TYPE,
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^[\w.:+/=-]+$/),
    'content-length': String(Buffer.byteLength(body)),
  });
  if (!Value.Check(Problem, problem)) throw new Error(`not a problem: ${body}`);
  // `held` depends on the endpoint.
  expect(Object.keys(problem).filter((key) => key !== 'held')).toEqual([
    ...KEYS,
    ...(EXTRA_KEYS[code] ?? []),
  ]);
  return problem;
}

async function plain(answer: Answer) {
  if (answer instanceof Response)
    return {
      status: answer.status,
      headers: Object.fromEntries<unknown>(answer.headers),
      body: await answer.text(),
    };
  const { headers, body } = answer;
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return { status: answer.status ?? answer.statusCode, headers: Object.fromEntries<unknown>(texts), body };
}
