import { MemoryLimiter } from 'leadtap';
import { expect, test } from 'vitest';
import { collectGarbage } from '../../../testing/harness/collect-garbage.ts';
import { USER_POLICIES } from '../../src/limits/limiter.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const USERS_AN_HOUR = 5_000;
const MAX_BYTES_PER_USER = 48;

/** By default all that is held, with what the test itself left behind; for small differences the arrays alone. */
function heldBytes(what: 'all' | 'arrays' = 'all'): number {
  collectGarbage();
  // Another thread frees the arrays, and is waited for by the next collection.
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return arrayBuffers + (what === 'all' ? heapUsed : 0);
}

test.each([
  ['while the clock goes on', 0],
  ['also after the clock was set back by a year', -YEAR_MS],
])('thirty hours of new users take no more than ten of them would, %s', (_when, jumpMs) => {
  let now = Date.UTC(2026, 2, 2);
  const limiter = new MemoryLimiter(USER_POLICIES, () => now);
  now += jumpMs;
  const before = heldBytes();
  for (let hour = 0; hour < 30; hour++)
    for (let n = 0; n < USERS_AN_HOUR; n++) {
      limiter.consume(`user-${hour}-${n}`);
      now += HOUR_MS / USERS_AN_HOUR;
    }
  // Those of ten hours: what the runtime itself allocates meanwhile is as much as those of one or two.
  expect(heldBytes() - before).toBeLessThan(10 * USERS_AN_HOUR * MAX_BYTES_PER_USER);
  // The limiter itself is still in use here, so none of this was measured after its end.
  expect(limiter.consume('last').violated).toEqual([]);
});

test('a user who polled within the hour costs 48 bytes at most', () => {
  let now = Date.UTC(2026, 2, 2);
  const limiter = new MemoryLimiter(USER_POLICIES, () => now);
  const users = 100_000;
  const before = heldBytes();
  for (let n = 0; n < users; n++) {
    limiter.consume(`user-${n}`);
    if (n % 100 === 0) now += 1;
  }
  expect((heldBytes() - before) / users).toBeLessThan(MAX_BYTES_PER_USER);
  expect(limiter.consume('user-0').windows[0]?.remaining).toBe(98);
});

test('when nobody came for an hour, or the clock was set back by one, nothing is held', () => {
  let now = Date.UTC(2026, 2, 2);
  const limiter = new MemoryLimiter(USER_POLICIES, () => now);
  for (const jumpMs of [HOUR_MS, -HOUR_MS]) {
    const before = heldBytes('arrays');
    for (let n = 0; n < 100_000; n++) limiter.consume(`user-${n}`);
    expect(heldBytes('arrays') - before).toBeGreaterThan(1_700_000);
    now += jumpMs;
    limiter.consume('next');
    expect(heldBytes('arrays') - before).toBeLessThan(1_000_000);
  }
});
