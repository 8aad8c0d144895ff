import { readFileSync } from 'node:fs';
import { HEADERS, headerSpelling, PROBLEM_CODES, SINCE_FORMS } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { parseQuery } from '../../src/poll/query.ts';

const text = readFileSync(new URL('../../../../docs/http-api.md', import.meta.url), 'utf8');

/** The rows of the table with this header, without the backticks around a cell. */
function tableAfter(header: string): string[][] {
  const [, rest = ''] = text.split(`${header}\n`);
  const [rows = ''] = rest.split('\n\n');
  const lines = rows.trim().split('\n').slice(1);
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1')),
  );
}

const accepted = tableAfter('| form | example | read as |');

test('the accepted forms of since are those of the contract', () => {
  expect(accepted).toEqual(SINCE_FORMS.map(({ form, example, readAs }) => [form, example, readAs]));
});

test.each(accepted)('since, %s: %s is read as %s', (_form, example = '', readAs = '') => {
  expect(parseQuery(String(new URLSearchParams({ since: example })))).toMatchObject({
    limit: 100,
    since: Date.parse(readAs),
  });
});

test('the table of headers has every header of the contract', () => {
  const names = (Object.keys(HEADERS) as (keyof typeof HEADERS)[]).map(headerSpelling);
  expect(
    tableAfter('| header | on | meaning |')
      .map(([name]) => name)
      .sort(),
  ).toEqual(names.sort());
});

test('every code in the order of the checks exists', () => {
  const [, order = ''] = /## Order of the checks([\s\S]*?)\n## /.exec(text) ?? [];
  const named = [...order.matchAll(/`([a-z-]+)`/g)].map((match) => match[1]);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((code) => !PROBLEM_CODES.some((known) => known === code))).toEqual([]);
});
