import { expect, test } from 'vitest';
import {
  exampleProblem,
  HEADERS,
  headerSpelling,
  LEADS_PATH,
  NEW_LEADS_PATH,
  PROBLEM_CODES,
  PROBLEMS,
} from '../src/index.ts';
import { published } from './published-document.ts';

const { get, head } = published.paths[NEW_LEADS_PATH];
const post = published.paths[LEADS_PATH]?.post;
const headersOf = (status: number) => Object.keys(get.responses[status]?.headers ?? {});

test('every status of the contract is described, for GET and for HEAD', () => {
  const contract = ['200', '304', '400', '401', '403', '404', '405', '429', '500', '503'];
  expect(Object.keys(get.responses)).toEqual(expect.arrayContaining(contract));
  expect(Object.keys(head.responses)).toEqual(Object.keys(get.responses));
});

test('every status of a request that sends leads is described', () => {
  const contract = [
    '200',
    '201',
    '400',
    '401',
    '403',
    '404',
    '405',
    '413',
    '415',
    '422',
    '429',
    '500',
    '503',
  ];
  expect(Object.keys(post?.responses ?? {})).toEqual(expect.arrayContaining(contract));
});

/** Problems of polls alone, and of requests that send leads alone. */
const POLL_ONLY = ['invalid-query', 'professional-plan-required'];
const INTAKE_ONLY = ['payload-too-large', 'unsupported-media-type', 'invalid-lead'];

test.each(PROBLEM_CODES)('%s has an example under its status, at the endpoints that have it', (code) => {
  const examples = [get, post].map(
    (operation) =>
      operation?.responses[PROBLEMS[code].status]?.content?.['application/problem+json']?.examples[code]
        ?.value,
  );
  const example = exampleProblem(code);
  expect(examples).toEqual([
    INTAKE_ONLY.includes(code) ? undefined : example,
    POLL_ONLY.includes(code) ? undefined : example,
  ]);
});

test('the schema of a problem lists exactly the codes of the catalogue', () => {
  expect(published.components.schemas.Problem.properties?.['code']?.enum).toEqual(PROBLEM_CODES);
});

test('every header of the contract is described and used', () => {
  const spellings = (Object.keys(HEADERS) as (keyof typeof HEADERS)[]).map(headerSpelling).sort();
  const used = new Set(Object.values(get.responses).flatMap(({ headers }) => Object.keys(headers)));
  expect(Object.keys(published.components.headers).sort()).toEqual(spellings);
  expect([...used].sort()).toEqual(spellings);
});

test.each([
  [200, ['Link', 'ETag', 'Vary', 'Date', 'RateLimit', 'RateLimit-Policy']],
  [304, ['ETag', 'Vary', 'Date']],
  [401, ['WWW-Authenticate']],
  [403, ['WWW-Authenticate', 'RateLimit', 'RateLimit-Policy']],
  [405, ['Allow']],
  [429, ['Retry-After', 'RateLimit', 'RateLimit-Policy']],
  [503, ['Retry-After']],
])('%i carries its headers', (status, names) => {
  expect(headersOf(status)).toEqual(expect.arrayContaining([...names, 'X-Request-Id', 'Cache-Control']));
});

test('Retry-After is a whole number', () => {
  expect(published.components.headers['Retry-After']?.schema.type).toBe('integer');
});
