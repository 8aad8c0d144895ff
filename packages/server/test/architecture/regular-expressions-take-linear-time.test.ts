/**
 * Headers, queries, bodies, files and answers are texts of others. An expression that tries the same characters again and again
 * blocks all other requests: in one of 16 kB, for seconds.
 */
import { describe, expect, it } from 'vitest';
import { fastestMs, MAX_MS } from '../../../testing/harness/linear-time.ts';
import { attacksOn, collectExpressions, type Expression, toExpression } from './regular-expressions.ts';

/** The attack that takes longer than it may, if there is one. */
function slowAttack({ pattern }: Expression): string | undefined {
  for (const attack of attacksOn(pattern))
    if (fastestMs(() => attack.replace(pattern, '')) > MAX_MS) return attack;
  return undefined;
}

const { expressions, computed } = collectExpressions();
const distinct = new Map(expressions.map((expression) => [expression.text, expression]));

describe('a text of 20,000 characters takes at most 20 ms', () => {
  it('all regular expressions are found', () => {
    expect(distinct.size).toBeGreaterThan(100);
    // Only literals can be collected. These begin with `^` and have no two adjacent repetitions.
    expect(computed.map((place) => place.split(':')[0])).toEqual([
      'packages/server/src/leads/import/lead-times.ts',
      'packages/server/src/leads/import/read-leads.ts',
    ]);
  });

  it.each([...distinct.values()])('$path: $text', (expression) =>
    expect(slowAttack(expression)?.slice(0, 100)).toBeUndefined(),
  );
});

describe('the attacks find', () => {
  it.each([
    String.raw`/\/+$/`,
    String.raw`/<[^>]*[?&]since=([^&>]+)[^>]*>\s*;\s*rel="next"/`,
    String.raw`/(?:"(?:[^"\\]|\\.)*"|[^",])+/gs`,
    String.raw`/^([^\s"=;]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^"=;\s]*))?[ \t]*(?:;.*)?$/s`,
    String.raw`/(?:^|;)\s*charset\s*=\s*"?([^";\s]*)"?\s*(?=;|$)/gi`,
  ])('the quadratic %s', (text) => expect(slowAttack(toExpression('', text))).toBeDefined());
});
