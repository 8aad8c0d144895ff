import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/limits/limiter.ts';
import { RecentRefusals } from '../../src/limits/recent-refusals.ts';
import { manualClock } from '../harness/manual-clock.ts';

const refused = (retryAfterS: number): Verdict => ({ windows: [], violated: ['minute'], retryAfterS });
const passes: Verdict = { windows: [], violated: [], retryAfterS: 0 };

describe('recent refusals', () => {
  it('last until the second that is not sure, or until the next verdict', () => {
    const clock = manualClock();
    const refusals = new RecentRefusals(clock);
    refusals.remember('ada', refused(60));
    refusals.remember('ben', refused(60));
    refusals.remember('cleo', refused(1));
    expect(['ada', 'ben', 'cleo', 'dora'].map((key) => refusals.has(key))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    refusals.remember('ben', passes);
    expect(refusals.has('ben')).toBe(false);
    clock.advance(58_999);
    expect(refusals.has('ada')).toBe(true);
    clock.advance(1);
    expect(refusals.has('ada')).toBe(false);
  });

  it('forget the oldest of very many', () => {
    const refusals = new RecentRefusals(manualClock());
    for (let i = 0; i < 10_000; i += 1) refusals.remember(`user ${i}`, refused(60));
    // Heard of again, so no longer the oldest.
    refusals.remember('user 0', refused(60));
    refusals.remember('one more', refused(60));
    expect(['user 0', 'user 1', 'user 2', 'one more'].map((key) => refusals.has(key))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });
});
