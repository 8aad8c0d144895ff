import { MemoryLimiter, type Policy } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../../../testing/harness/collect-garbage.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { USER_POLICIES } from '../../src/limits/limiter.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const USERS_PER_HOUR = 5_000;
const MAX_BYTES_PER_USER = 250;

function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('the memory limiter', () => {
  it.each([
    ['while the clock advances', 0],
    ['after the clock was set back by a year', -YEAR_MS],
  ])('removes users whose windows have ended, %s', (_when, jumpMs) => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(USER_POLICIES, clock);
    limiter.consume('first');
    clock.advance(jumpMs);
    const before = heldBytes();
    for (let hour = 0; hour < 8; hour += 1)
      for (let n = 0; n < USERS_PER_HOUR; n += 1) {
        limiter.consume(`user-${hour}-${n}`);
        clock.advance(HOUR_MS / USERS_PER_HOUR);
      }
    // Some hours more than one, for what the runtime itself allocates meanwhile.
    expect(heldBytes() - before).toBeLessThan(5 * USERS_PER_HOUR * MAX_BYTES_PER_USER);
    // The limiter is used here again, so that it was not collected before it was measured.
    expect(limiter.consume('last').violated).toEqual([]);
  });

  it('uses at most 250 bytes for a user', () => {
    const limiter = new MemoryLimiter(USER_POLICIES, manualClock());
    const users = 50_000;
    const before = heldBytes();
    for (let n = 0; n < users; n += 1) limiter.consume(`user-${n}`);
    expect((heldBytes() - before) / users).toBeLessThan(MAX_BYTES_PER_USER);
    expect(limiter.consume('user-0').windows[0]?.remaining).toBe(98);
  });

  it('removes all users after two hours without requests, and when the clock is set back by two hours', () => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(USER_POLICIES, clock);
    for (const jumpMs of [2 * HOUR_MS, -2 * HOUR_MS]) {
      const before = heldBytes();
      for (let n = 0; n < 50_000; n += 1) limiter.consume(`user-${n}`);
      expect(heldBytes() - before).toBeGreaterThan(4_000_000);
      clock.advance(jumpMs);
      limiter.consume('next');
      expect(heldBytes() - before).toBeLessThan(1_500_000);
    }
  });
});

describe('a memory limiter with as many users as it may count', () => {
  const POLICIES: readonly Policy[] = [
    { name: 'short', quota: 2, windowS: 10 },
    { name: 'long', quota: 5, windowS: 60 },
  ];
  const [ALLOWED, REJECTED] = [[], ['short']];

  it('rejects no further user, and evicts only those that are inactive', () => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(POLICIES, clock, 4);
    const consume = (key: string) => limiter.consume(key).violated;
    for (const user of ['ada', 'ben']) for (let i = 0; i < 2; i += 1) expect(consume(user)).toEqual(ALLOWED);
    for (const user of ['cleo', 'dan', 'eve', 'fay', 'gus']) {
      expect(consume('ada')).toEqual(REJECTED);
      for (let i = 0; i < 2; i += 1) expect(consume(user)).toEqual(ALLOWED);
      expect(consume(user)).toEqual(REJECTED);
    }
    expect(limiter.consume('ben').windows.map(({ remaining }) => remaining)).toEqual([1, 4]);
  });

  it('evicts no active user while windows that have ended make room', () => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(POLICIES, clock, 4);
    for (const user of ['ada', 'ben']) limiter.consume(user);
    clock.advance(59_000);
    for (let i = 0; i < 2; i += 1) limiter.consume('cleo');
    clock.advance(1000);
    for (const user of ['dan', 'eve']) limiter.consume(user);
    expect(limiter.consume('cleo').violated).toEqual(REJECTED);
  });
});
