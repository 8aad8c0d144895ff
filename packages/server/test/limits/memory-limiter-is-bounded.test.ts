import { MemoryLimiter, type Policy } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../../../testing/harness/collect-garbage.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { MINUTE_AND_HOUR } from './support/redis-instances.ts';

const MAX_BYTES_PER_USER = 200;

function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('the memory limiter', () => {
  it('holds no more users than it may count', () => {
    const maxKeys = 10_000;
    const limiter = new MemoryLimiter(MINUTE_AND_HOUR, manualClock(), maxKeys);
    for (let n = 0; n < maxKeys; n += 1) limiter.consume(`user-${n}`);
    const before = heldBytes();
    for (let n = maxKeys; n < 10 * maxKeys; n += 1) limiter.consume(`user-${n}`);
    expect(heldBytes() - before).toBeLessThan(maxKeys * MAX_BYTES_PER_USER);
    // The limiter is used here again, so that it was not collected before it was measured.
    expect(limiter.consume('last').violated).toEqual([]);
  });

  it('uses at most 200 bytes for a user', () => {
    const limiter = new MemoryLimiter(MINUTE_AND_HOUR, manualClock());
    const users = 50_000;
    const before = heldBytes();
    for (let n = 0; n < users; n += 1) limiter.consume(`user-${n}`);
    expect((heldBytes() - before) / users).toBeLessThan(MAX_BYTES_PER_USER);
    expect(limiter.consume('user-0').windows[0]?.remaining).toBe(98);
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
    const limiter = new MemoryLimiter(POLICIES, clock, 2);
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
