import { readFileSync } from 'node:fs';
import { HEADERS, headerSpelling, PROBLEM_CODES } from '@leadtap/contract';
import { expect, test } from 'vitest';

const text = readFileSync(new URL('../../../../docs/http-api.md', import.meta.url), 'utf8');

test('the table of headers has every header of the contract', () => {
  const [, table = ''] = /\| header \| on \| meaning \|\n([\s\S]*?)\n\n/.exec(text) ?? [];
  const listed = [...table.matchAll(/^\| `(\S+)` \|/gm)].map(([, name]) => name);
  const names = (Object.keys(HEADERS) as (keyof typeof HEADERS)[]).map(headerSpelling);
  expect(listed.sort()).toEqual(names.sort());
});

test('every code in the order of the checks exists', () => {
  const [, order = ''] = /## Order of the checks([\s\S]*?)\n## /.exec(text) ?? [];
  const named = [...order.matchAll(/`([a-z-]+)`/g)].map((match) => match[1]);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((code) => !PROBLEM_CODES.some((known) => known === code))).toEqual([]);
});
