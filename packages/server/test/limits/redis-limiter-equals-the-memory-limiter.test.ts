import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Policy, Verdict } from '../../src/limits/limiter.ts';
import { MemoryLimiter } from '../../src/limits/memory-limiter.ts';
import { manualClock } from '../harness/manual-clock.ts';
import { makeTestRedis } from '../harness/redis.ts';
import { atOnce, openInstances, redisCommands } from './sharing.ts';

/** Small enough that a few steps reach every edge of both windows, and both at once. */
const POLICIES: readonly Policy[] = [
  { name: 'short', quota: 3, windowS: 10 },
  { name: 'long', quota: 6, windowS: 60 },
];

const steps = fc.array(
  fc.record({
    waitS: fc.oneof(fc.constantFrom(0, 0, 0, 1, 9, 10, 11, 59, 60, 61), fc.nat(20)),
    key: fc.constantFrom('ada', 'ben'),
    /** How many ask at the same time. */
    requests: fc.oneof(fc.constant(1), fc.constant(1), fc.integer({ min: 2, max: 12 })),
  }),
  { minLength: 1, maxLength: 25 },
);

type Commands = Awaited<ReturnType<typeof redisCommands>>;

/**
 * Moves the time of Redis, which has no clock to move, by letting all windows end earlier. As all waits are whole seconds,
 * rounding up takes out the moments that really passed since.
 */
const ADVANCE = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, key in ipairs(redis.call('keys', '*:short+long:*')) do
  local used, ends, longUsed, longEnds = struct.unpack('<I4I6I4I6', redis.call('get', key))
  local function earlier(moment) return now + math.ceil((moment - now) / 1000) * 1000 - ARGV[1] * 1000 end
  ends, longEnds = earlier(ends), earlier(longEnds)
  local left = math.max(ends, longEnds) - now
  if left > 0 then redis.call('set', key, struct.pack('<I4I6I4I6', used, ends, longUsed, longEnds), 'PX', left)
  else redis.call('del', key) end
end`;

const advance = (redis: Commands, waitS: number): Promise<unknown> =>
  redis.eval(ADVANCE, { arguments: [String(waitS)] });

/** Of requests at the same time nobody can say which came first, so only what they got together counts. */
const together = (verdicts: readonly Verdict[]) => verdicts.map((verdict) => JSON.stringify(verdict)).sort();

describe('the limiter on Redis', () => {
  it('gives the verdicts of the memory limiter, whatever comes when, to three instances together', async () => {
    const { url } = await makeTestRedis();
    const commands = await redisCommands(url);
    const instances = await openInstances(3, url, POLICIES);
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        await commands.flushDb();
        const clock = manualClock();
        const model = new MemoryLimiter(POLICIES, clock);
        for (const { waitS, key, requests } of sequence) {
          clock.advance(waitS * 1000);
          await advance(commands, waitS);
          const expected = [];
          for (let i = 0; i < requests; i += 1) expected.push(await model.consume(key));
          expect(together(await atOnce(requests, instances, key))).toEqual(together(expected));
        }
      }),
      { numRuns: 100 },
    );
    expect(instances.map(({ limits }) => limits.fallbacks)).toEqual([0, 0, 0]);
  });
});
