import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toIso } from '../src/lib/clock.ts';

const DAY_MS = 86_400_000;
/** The limit of dates in JavaScript. */
const FURTHEST = 8.64e15;

const anyTime = fc.integer({ min: -FURTHEST, max: FURTHEST });
const ofFourDigits = fc.integer({
  min: Date.parse('0000-01-01'),
  max: Date.parse('9999-12-31T23:59:59.999Z'),
});
/** Near the start and end of days. */
const nearMidnight = fc
  .tuple(fc.integer({ min: -800_000, max: 3_000_000 }), fc.integer({ min: -2, max: 2 }))
  .map(([days, offset]) => days * DAY_MS + offset);

describe('toIso equals Date.toISOString', () => {
  it.each([
    ['in years of four digits', ofFourDigits],
    ['in all years', anyTime],
    ['at midnight', nearMidnight],
  ])('%s', (_when, time) => {
    fc.assert(
      fc.property(time, (ms) => toIso(ms) === new Date(ms).toISOString()),
      { numRuns: 2000 },
    );
  });

  it('several times of one day, mixed with other days', () => {
    const times = fc.array(
      fc.tuple(fc.constantFrom(-FURTHEST, -DAY_MS, 0, 20_515 * DAY_MS), fc.nat({ max: DAY_MS })),
    );
    fc.assert(
      fc.property(times, (some) => {
        for (const [day, ms] of some) expect(toIso(day + ms)).toBe(new Date(day + ms).toISOString());
      }),
    );
  });

  it.each([Number.NaN, FURTHEST + 1, -FURTHEST - 1])('throws for an invalid time: %d', (ms) => {
    expect(() => toIso(ms)).toThrow(RangeError);
    expect(() => new Date(ms).toISOString()).toThrow(RangeError);
  });
});
