import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ownRedis } from '../../../testing/harness/redis.ts';
import { LONG_REDIS_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { FAILED_TOKEN_POLICIES, type Policy } from '../../src/limits/limiter.ts';
import { openLimiters } from '../../src/limits/open-limiters.ts';
import type { RedisTimeouts } from '../../src/limits/redis/connection.ts';
import { repeatReply, silent, startFakeRedis } from './support/fake-redis.ts';
import { MINUTE_AND_HOUR, RecordedLog } from './support/redis-instances.ts';

/** Windows that do not end during a test. */
const lasting = (policies: readonly Policy[]) => policies.map((policy) => ({ ...policy, windowS: 86_400 }));

async function open(redisUrl: string | undefined, redisTimeouts: RedisTimeouts = LONG_REDIS_TIMEOUTS) {
  const log = new RecordedLog();
  const limiters = await openLimiters({
    redisUrl,
    clock: systemClock,
    log,
    redisTimeouts,
    userPolicies: lasting(MINUTE_AND_HOUR),
    failedTokenPolicies: lasting(FAILED_TOKEN_POLICIES),
  });
  onTestFinished(() => limiters.close());
  return { ...limiters, log };
}

const UNAVAILABLE: readonly {
  name: string;
  url: () => Promise<string>;
  reason: RegExp;
  timeouts?: RedisTimeouts;
}[] = [
  {
    name: 'that does not listen',
    url: async () => `redis://127.0.0.1:${await freePort()}`,
    reason: /ECONNREFUSED/,
  },
  { name: 'with an unknown host name', url: async () => 'redis://redis.invalid', reason: /redis\.invalid/ },
  {
    name: 'that never replies',
    url: async () => `redis://127.0.0.1:${(await startFakeRedis(silent)).port}`,
    reason: /no reply within 50 ms/,
    timeouts: { ...LONG_REDIS_TIMEOUTS, attemptMs: 50 },
  },
  {
    name: 'that closes the connection',
    url: async () => `redis://127.0.0.1:${(await startFakeRedis((socket) => socket.destroy())).port}`,
    reason: /./,
  },
  {
    name: 'that still loads its data',
    url: async () =>
      `redis://127.0.0.1:${(await startFakeRedis(repeatReply('-LOADING Redis is loading the dataset in memory'))).port}`,
    reason: /LOADING/,
  },
  {
    name: 'that replies to a script without running it',
    url: async () => `redis://127.0.0.1:${(await startFakeRedis(repeatReply('+OK'))).port}`,
    reason: /unexpected reply to the rate limit script/,
  },
  {
    name: 'that is another server',
    url: async () =>
      `redis://127.0.0.1:${(await startFakeRedis(repeatReply('HTTP/1.1 400 Bad Request'))).port}`,
    reason: /./,
    timeouts: { ...LONG_REDIS_TIMEOUTS, attemptMs: 50 },
  },
];

describe('without Redis', () => {
  it('the limits are in memory, and nothing about Redis is logged', async () => {
    const { users, failedTokens, shared, log } = await open(undefined);
    expect((await users.consume('ada')).windows.map(({ policy }) => policy.name)).toEqual(['minute', 'hour']);
    expect((await failedTokens.consume('ada')).windows.map(({ policy }) => policy.name)).toEqual([
      'failed-tokens',
    ]);
    expect(shared).toBeUndefined();
    expect(log.lines).toEqual([]);
  });
});

describe.each(UNAVAILABLE)('with a Redis $name', ({ url, reason, timeouts }) => {
  it('the limits begin in memory, with one warning that has the reason', async () => {
    const { users, failedTokens, shared, log } = await open(await url(), timeouts);
    expect(shared).toMatchObject({ isUp: false, fallbacks: 0 });
    for (const limiter of [users, failedTokens])
      expect(await limiter.consume('ada')).toMatchObject({ violated: [], retryAfterS: 0 });
    expect(shared).toMatchObject({ isUp: false, fallbacks: 2 });
    expect(log.levels).toEqual(['warn']);
    expect(log.lines[0]).toMatchObject({ details: { reason: expect.stringMatching(reason) } });
  });
});

describe('with a Redis that starts later', () => {
  it('the limits are shared as soon as it is reachable', async () => {
    const redis = await ownRedis();
    await redis.kill();
    const instances = await Promise.all([open(redis.url), open(redis.url)]);
    await redis.start();
    await Promise.all(instances.map(({ log }) => log.last('info')));
    for (const { users, failedTokens } of instances) {
      await users.consume('ada');
      await failedTokens.consume('10.1.1.1');
    }
    for (const { users, failedTokens, shared, log } of instances) {
      expect(shared).toMatchObject({ isUp: true, fallbacks: 0 });
      expect(log.levels).toEqual(['warn', 'info']);
      expect((await users.consume('ada')).windows[0]?.remaining).toBeLessThanOrEqual(97);
      expect((await failedTokens.consume('10.1.1.1')).windows[0]?.remaining).toBeLessThanOrEqual(597);
    }
  });
});

describe('closing', () => {
  it('disconnects from Redis, and further requests are limited in memory', async () => {
    const redis = await ownRedis();
    const { users, shared, log, close } = await open(redis.url);
    await users.consume('ada');
    close();
    close();
    expect((await users.consume('ada')).violated).toEqual([]);
    expect(shared).toMatchObject({ isUp: false, fallbacks: 1 });
    expect(log.lines).toEqual([]);
  });

  it('limits in memory the requests that wait for Redis', async () => {
    const redis = await ownRedis();
    const { users, log, close } = await open(redis.url);
    redis.pause();
    const verdict = users.consume('ada');
    close();
    expect((await verdict).violated).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  it('stops reconnecting, also during an attempt', async () => {
    let behave: (socket: Socket) => void = (socket) => socket.destroy();
    const fakeRedis = await startFakeRedis((socket) => behave(socket));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const between = await open(`redis://127.0.0.1:${fakeRedis.port}`);
    expect(vi.getTimerCount()).toBe(1);
    between.close();
    expect(vi.getTimerCount()).toBe(0);

    const connecting = await open(`redis://127.0.0.1:${fakeRedis.port}`);
    behave = silent;
    const attempt = fakeRedis.connection();
    vi.advanceTimersByTime(1000);
    const ended = once(await attempt, 'close');
    connecting.close();
    await ended;
    expect(vi.getTimerCount()).toBe(0);
    expect(fakeRedis.sockets).toHaveLength(3);
    expect(connecting.log.levels).toEqual(['warn']);
  });
});
