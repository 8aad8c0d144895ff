/**
 * Headers, queries, bodies, files and answers are texts of others. An expression that tries the same characters again and again
 * blocks all other requests: in one of 16 kB, for seconds.
 */
import { analyse } from 'scslre';
import { describe, expect, it } from 'vitest';
import { fastestMs, LONG, MAX_MS } from '../../../testing/harness/linear-time.ts';
import { attacksOn, collectExpressions, type Expression, toExpression } from './regular-expressions.ts';

const timeOf = (pattern: RegExp, text: string, enoughMs: number): number =>
  fastestMs(() => text.replace(pattern, ''), enoughMs);

/** A twentieth of the text shows most to be fast: if the time grew with the square of the length, the whole would take at most 20 ms. */
const SHORT = LONG / 20;
const SHORT_MS = MAX_MS / 20 ** 2;

/** The analysis knows repetitions that can match the same characters. The attacks find searches that start again and again. */
function whySlow({ pattern }: Expression): string | undefined {
  const [report] = analyse({ source: pattern.source, flags: pattern.flags }).reports;
  if (report) return `${report.type}: repeat ${report.character.literal}`;
  for (const attack of attacksOn(pattern)) {
    if (timeOf(pattern, attack(SHORT), SHORT_MS) <= SHORT_MS) continue;
    const text = attack(LONG);
    if (timeOf(pattern, text, MAX_MS) > MAX_MS) return text.slice(0, 100);
  }
  return undefined;
}

const { expressions, computed } = collectExpressions();
const distinct = new Map(expressions.map((expression) => [expression.text, expression]));

describe('a text of 20,000 characters takes at most 20 ms', () => {
  it('all regular expressions are found', () => {
    expect(distinct.size).toBeGreaterThan(100);
    // Only literals can be collected. These begin with `^` and have no two adjacent repetitions.
    expect(computed.map((place) => place.split(':')[0])).toEqual(['packages/server/src/leads/lead-times.ts']);
  });

  it.each([...distinct.values()])('$path: $text', (expression) =>
    expect(whySlow(expression)).toBeUndefined(),
  );
});

describe('the check finds', () => {
  it.each([
    String.raw`/\/+$/`,
    String.raw`/^[^[].*\.[^.]*[a-z][^.]*$/`,
    String.raw`/<[^>]*[?&]since=([^&>]+)[^>]*>\s*;\s*rel="next"/`,
    String.raw`/(?:"(?:[^"\\]|\\.)*"|[^",])+/gs`,
    String.raw`/^([^\s"=;]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^"=;\s]*))?[ \t]*(?:;.*)?$/s`,
    String.raw`/(?:^|;)\s*charset\s*=\s*"?([^";\s]*)"?\s*(?=;|$)/gi`,
  ])('the quadratic %s', (text) => expect(whySlow(toExpression('', text))).toBeDefined());
});
