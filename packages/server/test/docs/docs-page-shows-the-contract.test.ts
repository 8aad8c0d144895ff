import {
  HEADERS,
  headerSpelling,
  PROBLEM_CODES,
  PROBLEMS,
  SINCE_FORMS,
  USER_LIMITS_TEXT,
} from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import { expect, test } from 'vitest';
import { getDocsPage } from './docs-page.ts';

const page = await getDocsPage('https://leads.acme.test/api');
const section = (id: string) =>
  new RegExp(`<section aria-labelledby="${id}">[\\s\\S]*?</section>`).exec(page)?.[0] ?? '';
const rowNames = (markup: string) =>
  [...markup.matchAll(/<th role="rowheader" scope="row"><code>(.*?)<\/code>/g)].map((match) => match[1]);

test('the first request has the base URL', () => {
  expect(section('start')).toContain('&#39;https://leads.acme.test/api/automation/new-leads?limit=3&#39;');
});

test('the parameters and the accepted forms of since', () => {
  expect(rowNames(section('parameters'))).toEqual([
    'limit',
    'since',
    'If-None-Match',
    'Prefer',
    'X-Request-Id',
  ]);
  for (const { example, readAs } of SINCE_FORMS)
    expect(section('parameters')).toContain(
      `data-label="Example"><code>${example}</code></td><td role="cell" data-label="Read as"><code>${readAs}</code>`,
    );
});

test('the fields of the lead, in their order, each with type, meaning and example', () => {
  const fields = section('lead').split('Fields of status')[0] ?? '';
  expect(rowNames(fields)).toEqual(Object.keys(Lead.properties));
  expect(fields).not.toMatch(/<td [^>]*>(<code>(undefined)?<\/code>)?<\/td>/);
  expect(fields).toContain('<code>timeslot</code> <span class="kind">string or null</span>');
  expect(fields).toContain('<code>createdAt</code> <span class="kind">string, date-time</span>');
  expect(fields).toContain('<code>images</code> <span class="kind">array of string</span>');
});

test('every header, with the statuses that carry it', () => {
  const names = Object.keys(HEADERS) as (keyof typeof HEADERS)[];
  expect(rowNames(section('headers')).sort()).toEqual(names.map(headerSpelling).sort());
  expect(section('headers')).toContain('<code>Retry-After</code> <span class="kind">on 429, 503</span>');
  expect(section('headers')).toContain(
    '<code>X-Request-Id</code> <span class="kind">on every response</span>',
  );
});

test('the limits', () => {
  expect(section('rate-limits')).toContain(USER_LIMITS_TEXT);
});

test.each(PROBLEM_CODES)('%s under its own anchor, with status, title and what to do', (code) => {
  const article = new RegExp(
    `<article class="problem" aria-labelledby="problem-${code}">[\\s\\S]*?</article>`,
  ).exec(page)?.[0];
  expect(article).toContain(`<h3 id="problem-${code}">`);
  expect(article).toContain(`>${PROBLEMS[code].status}</span>`);
  expect(article).toContain(PROBLEMS[code].title);
  expect(article).toMatch(/<strong>What to do:<\/strong> .{10,}/);
});
