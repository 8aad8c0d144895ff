import fc from 'fast-check';
import { MemoryLimiter, type Policy } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';

/** Small enough that a few steps reach every edge of both windows, and both at once. */
const POLICIES: readonly Policy[] = [
  { name: 'short', quota: 3, windowS: 10 },
  { name: 'long', quota: 6, windowS: 60 },
];

interface Step {
  readonly waitMs: number;
  readonly key: string;
}

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.oneof(
    fc.constantFrom(0, 0, 0, 1, 999, 1000, 9_999, 10_000, 59_999, 60_000, 600_000),
    fc.nat(20_000),
  ),
  key: fc.constantFrom('ada', 'ben'),
});

/** A window opens with a request that finds none open, and counts the requests that pass. */
class Model {
  readonly #windows = new Map<string, { opensAt: number; passed: number }>();

  consume(key: string, now: number) {
    const windows = POLICIES.map((policy) => {
      const name = `${key} ${policy.name}`;
      const known = this.#windows.get(name);
      const lengthMs = policy.windowS * 1000;
      const window = known && now < known.opensAt + lengthMs ? known : { opensAt: now, passed: 0 };
      this.#windows.set(name, window);
      return { policy, window, endsAt: window.opensAt + lengthMs };
    });
    const full = windows.filter(({ policy, window }) => window.passed === policy.quota);
    if (full.length === 0) for (const { window } of windows) window.passed += 1;
    return {
      windows: windows.map(({ policy, window, endsAt }) => ({
        policy,
        remaining: policy.quota - window.passed,
        resetS: Math.ceil((endsAt - now) / 1000),
      })),
      violated: full.map(({ policy }) => policy.name),
      retryAfterS: Math.max(0, ...full.map(({ endsAt }) => Math.ceil((endsAt - now) / 1000))),
    };
  }
}

describe('the memory limiter', () => {
  it('gives the verdicts of its model, for any sequence of requests', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const clock = manualClock();
        const limiter = new MemoryLimiter(POLICIES, clock);
        const model = new Model();
        for (const { waitMs, key } of steps) {
          clock.advance(waitMs);
          const verdict = model.consume(key, clock());
          expect(await limiter.consume(key)).toEqual(verdict);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('lets a rejected request pass after Retry-After, and not a second earlier', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = manualClock();
        const limiter = new MemoryLimiter(POLICIES, clock);
        for (const { waitMs } of steps) {
          clock.advance(waitMs % 5000);
          const { retryAfterS } = await limiter.consume('ada');
          if (retryAfterS === 0) continue;
          clock.advance(retryAfterS * 1000 - 1000);
          if (retryAfterS > 1) expect((await limiter.consume('ada')).violated).not.toEqual([]);
          clock.advance(1000);
          expect((await limiter.consume('ada')).violated).toEqual([]);
        }
      }),
    );
  });

  it('never lets more pass in a window than its quota', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3000), { maxLength: 100 }), async (waits) => {
        const clock = manualClock();
        const limiter = new MemoryLimiter(POLICIES, clock);
        const passed: number[] = [];
        for (const waitMs of waits) {
          clock.advance(waitMs);
          if ((await limiter.consume('ada')).violated.length === 0) passed.push(clock());
        }
        // Windows follow each other, so any period of a window's length overlaps two of them at most.
        for (const { quota, windowS } of POLICIES)
          for (const from of passed) {
            const inPeriod = passed.filter((at) => at >= from && at < from + windowS * 1000);
            expect(inPeriod.length).toBeLessThanOrEqual(2 * quota);
          }
      }),
    );
  });

  it('rejects no user for longer than a window, also when the clock is set', () => {
    const jump = fc.oneof(
      fc.constantFrom(-60_000, -10_000, -9_999, -1, 0, 0, 0, 10_000),
      fc.integer({ min: -90_000, max: 90_000 }),
    );
    fc.assert(
      fc.property(fc.array(jump, { maxLength: 60 }), (jumps) => {
        const clock = manualClock();
        const limiter = new MemoryLimiter(POLICIES, clock);
        for (const jumpMs of jumps) {
          clock.advance(jumpMs);
          const { windows, violated, retryAfterS } = limiter.consume('ada');
          for (const { policy, remaining, resetS } of windows) {
            expect(resetS).toBeGreaterThan(0);
            expect(resetS).toBeLessThanOrEqual(policy.windowS);
            expect(remaining).toBeGreaterThanOrEqual(0);
            expect(violated.includes(policy.name)).toBe(retryAfterS > 0 && remaining === 0);
          }
          if (retryAfterS === 0) continue;
          clock.advance(retryAfterS * 1000);
          expect(limiter.consume('ada').violated).toEqual([]);
        }
      }),
    );
  });

  it('gives the verdicts of its model to many users, each active for some seconds', () => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(POLICIES, clock);
    const model = new Model();
    const random = fc.sample(fc.nat(0xffffff), { numRuns: 20_000, seed: 1 });
    const wrong = random.filter((number, i) => {
      clock.advance(number % 7);
      // New users all the time.
      const key = `user ${Math.floor(i / 40) + (number % 300)}`;
      const verdict = model.consume(key, clock());
      return JSON.stringify(limiter.consume(key)) !== JSON.stringify(verdict);
    });
    expect(wrong).toEqual([]);
  });

  it('begins new windows when the clock is set back, instead of rejecting until it has caught up', async () => {
    const clock = manualClock();
    const limiter = new MemoryLimiter(POLICIES, clock);
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    expect((await limiter.consume('ada')).violated).toEqual(['short']);
    clock.advance(-3_600_000);
    expect(await limiter.consume('ada')).toMatchObject({ violated: [], retryAfterS: 0 });
  });

  it('counts different keys separately, unusual ones too', async () => {
    const limiter = new MemoryLimiter(POLICIES, manualClock());
    for (const key of ['', '__proto__', 'constructor', 'a', 'a ', 'A'])
      for (let i = 0; i < 3; i += 1) expect((await limiter.consume(key)).violated).toEqual([]);
  });
});
