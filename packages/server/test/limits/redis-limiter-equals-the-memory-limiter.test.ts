import { createClient } from '@redis/client';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { MemoryLimiter, type Policy, type Verdict } from '../../src/limits/limiter.ts';
import { RedisLimiter } from '../../src/limits/redis/limiter.ts';
import { type ConsumeRequest, parseReply, SCRIPT, toArguments } from '../../src/limits/redis/script.ts';
import { atOnce } from './support/redis-instances.ts';

/** Small enough that a few steps reach every edge of both windows, and both at once. */
const POLICIES: readonly Policy[] = [
  { name: 'short', quota: 3, windowS: 10 },
  { name: 'long', quota: 6, windowS: 60 },
];

const steps = fc.array(
  fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 0, 0, 1, 999, 1000, 9999, 10_000, 10_001, 59_999, 60_000, 60_001),
      fc.nat(20_000),
    ),
    key: fc.constantFrom('ada', 'ben'),
    /** Concurrent requests. */
    requests: fc.oneof(fc.constant(1), fc.constant(1), fc.integer({ min: 2, max: 12 })),
    units: fc.constantFrom(1, 1, 2, 3),
  }),
  { minLength: 1, maxLength: 25 },
);

function replaced(text: string, what: string, by: string): string {
  if (!text.includes(what)) throw new Error(`the script does not contain ${what}`);
  return text.replace(what, by);
}

/**
 * The script with the clock of the test, because the clock of Redis cannot be set. Keys are kept for a thousand times as long,
 * because Redis expires them by its own clock.
 */
const scriptAt = (now: number): string =>
  replaced(
    replaced(SCRIPT, `redis.call('time')`, `{ ${Math.floor(now / 1000)}, ${(now % 1000) * 1000} }`),
    `'PX', last - now`,
    `'PX', (last - now) * 1000`,
  );

/** The limiter of one instance, with a connection of its own. */
async function openLimiter(url: string, clock: () => ManualClock): Promise<RedisLimiter> {
  const client = createClient({ url, RESP: 2 });
  await client.connect();
  onTestFinished(() => client.destroy());
  const connection = {
    isUp: true,
    consumeAll: async (request: ConsumeRequest) =>
      parseReply(request, await client.eval(scriptAt(clock()()), toArguments(request))),
  };
  return new RedisLimiter(POLICIES, connection, new MemoryLimiter(POLICIES, () => clock()()));
}

/** The order of concurrent requests is not defined, so only the set of their verdicts counts. */
const together = (verdicts: readonly Verdict[]) => verdicts.map((verdict) => JSON.stringify(verdict)).sort();

describe('the Redis limiter', () => {
  it('gives three instances together the verdicts of one memory limiter, for any sequence of requests', async () => {
    const { url } = await makeTestRedis();
    const commands = createClient({ url });
    await commands.connect();
    onTestFinished(() => commands.destroy());
    let clock = manualClock();
    const limiters = await Promise.all([1, 2, 3].map(() => openLimiter(url, () => clock)));
    const instances = limiters.map((limiter) => ({ limiter }));
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        await commands.flushDb();
        clock = manualClock();
        const model = new MemoryLimiter(POLICIES, clock);
        for (const { waitMs, key, requests, units } of sequence) {
          clock.advance(waitMs);
          const expected = [];
          for (let i = 0; i < requests; i += 1) expected.push(await model.consume(key, units));
          expect(together(await atOnce(requests, instances, key, units))).toEqual(together(expected));
        }
      }),
      { numRuns: 40 },
    );
  });
});
