import { expect, test } from 'vitest';
import {
  CONNECTION_PATH,
  exampleProblem,
  HEADERS,
  HOOKS_PATH,
  headerSpelling,
  LEADS_PATH,
  NEW_LEADS_PATH,
  PROBLEM_CODES,
  PROBLEMS,
} from '../src/index.ts';
import { published } from './published-document.ts';

const { get, head } = published.paths[NEW_LEADS_PATH];
const post = published.paths[LEADS_PATH]?.post;
const subscribe = published.paths[HOOKS_PATH].post;
const { patch: change } = published.paths[CONNECTION_PATH];
const hook = published.paths[`${HOOKS_PATH}/{id}`];
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

test('every status of webhook subscriptions is described, and that of a delete without a token', () => {
  expect(Object.keys(subscribe.responses)).toEqual(
    expect.arrayContaining(['200', '201', '400', '401', '403', '404', '409', '413', '415', '422', '429']),
  );
  expect(Object.keys(hook.get.responses)).toEqual(expect.arrayContaining(['200', '401', '403', '404']));
  expect(Object.keys(hook.delete.responses)).toEqual(expect.arrayContaining(['204', '404', '405', '429']));
  expect(Object.keys(hook.delete.responses)).not.toEqual(expect.arrayContaining(['401']));
  expect(Object.keys(published.webhooks)).toEqual(['leads.available', 'lead']);
});

test.each(PROBLEM_CODES)('%s has an example under its status', (code) => {
  const examples = [get, post, subscribe, change].flatMap((operation) => {
    const { content } = operation?.responses[PROBLEMS[code].status] ?? {};
    return content?.['application/problem+json']?.examples[code]?.value ?? [];
  });
  expect(examples).not.toEqual([]);
  for (const example of examples) expect(example).toEqual(exampleProblem(code));
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
  [200, ['Link', 'ETag', 'Vary', 'Preference-Applied', 'Date', 'RateLimit', 'RateLimit-Policy']],
  [304, ['ETag', 'Vary', 'Preference-Applied', 'Date']],
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
