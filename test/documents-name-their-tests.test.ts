import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** The rows of the tables below a heading, or before the first one, without their header. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)/gm)].flatMap(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) =>
        row
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
  );

const section = (page: string, heading: string): string =>
  read(page).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

/** The test files that a cell links to, from the root of the repository. */
const testsIn = (page: string, cell = ''): string[] =>
  [...cell.matchAll(/\]\(([^)#]+\.test\.ts)\)/g)].map(([, link = '']) => join(dirname(page), link));

const missing = (files: readonly string[]) => files.filter((file) => !existsSync(join(ROOT, file)));

describe('SECURITY.md', () => {
  const threats = rowsOf(section('SECURITY.md', 'Threat model'));

  test.each(threats)(
    'row %s has an asset, an attacker, a path, a defence, and tests that exist',
    (...cells) => {
      expect(cells).toHaveLength(6);
      expect(cells).not.toContain('');
      const tests = testsIn('SECURITY.md', cells[5]);
      expect(tests).not.toEqual([]);
      expect(missing(tests)).toEqual([]);
    },
  );

  test('its rows are numbered', () => {
    expect(threats.length).toBeGreaterThan(20);
    expect(threats.map(([number]) => Number(number))).toEqual(threats.map((_, index) => index + 1));
  });

  test('every heading of the OWASP API Security Top 10 has rows of the threat model, or a reason', () => {
    const headings = rowsOf(section('SECURITY.md', 'OWASP API Security Top 10 (2023)'));
    const names = headings.map(([heading = '']) => heading.split(' ')[0]);
    expect(names).toEqual(Array.from({ length: 10 }, (_, index) => `API${index + 1}`));
    for (const [, answer = ''] of headings) {
      expect(answer).not.toBe('');
      const [rows = ''] = /^[\d, to]*/.exec(answer) ?? [];
      for (const number of rows.match(/\d+/g) ?? [])
        expect(Number(number)).toBeLessThanOrEqual(threats.length);
    }
  });
});

test('docs/guarantees.md has every guarantee of docs/delivery.md, with tests that exist', () => {
  const promised = [...read('docs/delivery.md').matchAll(/^\| \*\*(D\d+) /gm)].map(([, name]) => name);
  expect(promised.length).toBeGreaterThan(0);
  const rows = rowsOf(read('docs/guarantees.md')).filter(([promise = '']) => promise.startsWith('**'));
  const named = rows.map(([promise = '']) => /\*\*(\w+)/.exec(promise)?.[1]);
  expect(named).toEqual([...promised, 'webhooks', 'all']);
  for (const [promise, , , tests] of rows) {
    const files = testsIn('docs/guarantees.md', tests);
    expect([promise, files.length > 0, missing(files)]).toEqual([promise, true, []]);
  }
});
