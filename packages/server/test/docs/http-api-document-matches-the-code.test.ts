import { readFileSync } from 'node:fs';
import { HEADERS, headerSpelling, PROBLEM_CODES, SINCE_FORMS } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { ProblemError } from '../../src/http/problems.ts';
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

function read(query: Record<string, string>) {
  try {
    return parseQuery(String(new URLSearchParams(query)));
  } catch (error) {
    if (error instanceof ProblemError) return 'refused';
    throw error;
  }
}

const accepted = tableAfter('| form | example | read as |');
const refused = tableAfter('| refused | example |');
const limits = tableAfter('| given | read as |');

test('the accepted forms of since are those of the contract', () => {
  expect(accepted).toEqual(SINCE_FORMS.map(({ form, example, readAs }) => [form, example, readAs]));
});

test.each(accepted)('since, %s: %s is read as %s', (_form, example = '', readAs = '') => {
  expect(read({ since: example })).toEqual({ limit: 100, since: Date.parse(readAs) });
});

test.each(refused)('since, %s: "%s" is refused', (_form, example = '') => {
  expect(read({ since: example === 'empty' ? '' : example })).toBe('refused');
});

test.each(limits)('limit %s is read as %s', (given = '', readAs = '') => {
  const query = given === 'absent' ? {} : { limit: given === 'empty' ? '' : given };
  expect(read(query)).toEqual(readAs === 'refused' ? 'refused' : { limit: Number(readAs) });
});

test('the tables were found', () => {
  expect([accepted.length, refused.length, limits.length].map((length) => length > 5)).toEqual([
    true,
    true,
    true,
  ]);
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
  expect(named).toHaveLength(11);
  expect(named.filter((code) => !PROBLEM_CODES.some((known) => known === code))).toEqual([]);
});
