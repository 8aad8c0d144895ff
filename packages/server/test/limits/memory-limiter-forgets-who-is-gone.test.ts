import { MemoryLimiter } from 'leadtap';
import { expect, test } from 'vitest';
import { USER_POLICIES } from '../../src/limits/limiter.ts';
import { collectGarbage } from '../harness/collect-garbage.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const USERS_AN_HOUR = 10_000;

function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test.each([
  ['while the clock goes on', 0],
  ['also after the clock was set back by a year', -YEAR_MS],
])('thirty hours of new users take no more than a few of them, %s', async (_when, jumpMs) => {
  let now = Date.UTC(2026, 2, 2);
  const limiter = new MemoryLimiter(USER_POLICIES, () => now);
  now += jumpMs;
  const pass = async (hour: number) => {
    for (let n = 0; n < USERS_AN_HOUR; n++) await limiter.consume(`user-${hour}-${n}`);
    now += HOUR_MS;
  };
  const before = heldBytes();
  await pass(0);
  const oneHour = heldBytes() - before;
  for (let hour = 1; hour < 30; hour++) await pass(hour);
  expect(heldBytes() - before).toBeLessThan(5 * oneHour);
  // The limiter itself is still in use here, so none of this was measured after its end.
  expect((await limiter.consume('last')).violated).toEqual([]);
});
