import { readFileSync } from 'node:fs';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { exampleProblem, PROBLEM_CODES, PROBLEMS, type ProblemEntry } from '../src/index.ts';
import { Problem } from '../src/schemas.ts';

const text = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

test('there is a section for every code and none besides', () => {
  expect([...sections.keys()]).toEqual(PROBLEM_CODES);
});

describe.each(PROBLEM_CODES)('the section of %s', (code) => {
  const section = sections.get(code) ?? '';

  test('has status, title and meaning of the catalogue', () => {
    const { status, title, meaning }: ProblemEntry = PROBLEMS[code];
    expect(section).toContain(`**${status} ${title}.**${meaning ? ` ${meaning}` : ''}\n`);
  });

  test('says what to do, to both', () => {
    const { integrator, operator }: ProblemEntry = PROBLEMS[code];
    expect(section).toContain(`\n**Integrator:** ${integrator}\n`);
    if (operator) expect(section).toContain(`\n**Operator:** ${operator}\n`);
  });
});

test.each(['invalid-query', 'invalid-lead', 'rate-limit-exceeded'] as const)(
  'the section of %s shows an example that equals the catalogue',
  (code) => {
    const example: unknown = JSON.parse(
      /```json\n([\s\S]*?)\n```/.exec(sections.get(code) ?? '')?.[1] ?? 'null',
    );
    expect(Check(Problem, example)).toBe(true);
    expect(example).toEqual(exampleProblem(code));
  },
);
