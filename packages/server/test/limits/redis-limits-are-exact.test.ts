import { describe, expect, it } from 'vitest';
import type { Policy } from '../../src/limits/limiter.ts';
import { USER_POLICIES } from '../../src/limits/limiter.ts';
import { ownRedis } from '../harness/own-servers.ts';
import { makeTestRedis } from '../harness/redis.ts';
import { atOnce, openInstance, openInstances, redisCommands } from './sharing.ts';

const passed = (verdicts: Awaited<ReturnType<typeof atOnce>>) =>
  verdicts.filter(({ violated }) => violated.length === 0);

describe('limits that are shared over Redis', () => {
  it('let 100 of 300 requests pass that one user sends at once to three instances', async () => {
    const { url } = await makeTestRedis();
    const instances = await openInstances(3, url, USER_POLICIES);
    const verdicts = await atOnce(300, instances, 'ada');
    const left = passed(verdicts).map(({ windows }) => windows.map(({ remaining }) => remaining));
    // Each of them was counted for itself, by both windows.
    const expected = Array.from({ length: 100 }, (_, i) => [99 - i, 999 - i]);
    expect(left.sort(([a = 0], [b = 0]) => b - a)).toEqual(expected);
    const refused = verdicts.filter(({ violated }) => violated.length > 0);
    expect(refused).toHaveLength(200);
    for (const { violated, windows, retryAfterS } of refused) {
      expect(violated).toEqual(['minute']);
      // What was refused used nothing of the hour.
      expect(windows.map(({ remaining }) => remaining)).toEqual([0, 900]);
      expect(retryAfterS).toBe(windows[0]?.resetS);
    }
  });

  it('do not use the minute for what the hour refuses', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [
      { name: 'minute', quota: 100, windowS: 60 },
      { name: 'hour', quota: 10, windowS: 3600 },
    ];
    const instances = await openInstances(3, url, policies);
    const verdicts = await atOnce(60, instances, 'ben');
    expect(passed(verdicts)).toHaveLength(10);
    const last = await openInstance(url, policies).then(({ limiter }) => limiter.consume('ben'));
    expect(last.violated).toEqual(['hour']);
    expect(last.windows.map(({ remaining }) => remaining)).toEqual([90, 0]);
    expect(last.retryAfterS).toBe(last.windows[1]?.resetS);
  });

  it('are for each user alone', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [{ name: 'minute', quota: 1, windowS: 60 }];
    const { limiter } = await openInstance(url, policies);
    const odd = [
      '',
      ' ',
      '__proto__',
      'constructor',
      'a',
      'A',
      '{a}',
      'a}b',
      '*',
      'a\0b',
      'a\r\nb',
      '\u00e9',
      'e\u0301',
    ];
    for (const key of [...odd, 'x'.repeat(100_000)])
      expect((await limiter.consume(key)).violated, JSON.stringify(key.slice(0, 20))).toEqual([]);
    for (const key of odd) expect((await limiter.consume(key)).violated).toEqual(['minute']);
  });

  it('end by themselves, and leave nothing behind', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [
      { name: 'minute', quota: 1, windowS: 60 },
      { name: 'hour', quota: 5, windowS: 3600 },
    ];
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, policies);
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    for (const { name, windowS } of policies) {
      const [key = ''] = await commands.keys(`leadtap:limits:${name}:*`);
      const leftMs = await commands.pTTL(key);
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(windowS * 1000);
      // The rest of its time, in short.
      await commands.pExpire(key, 1);
    }
    await expect.poll(() => commands.keys('leadtap:limits:*:*')).toEqual([]);
    expect(await limiter.consume('ada')).toMatchObject({
      violated: [],
      windows: [{ resetS: 60 }, { remaining: 4 }],
    });
  });

  it('tell nobody’s name to whoever looks into Redis, and keep their keys short', async () => {
    const { url } = await makeTestRedis();
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, USER_POLICIES);
    await limiter.consume('ada@example.com');
    await limiter.consume('x'.repeat(100_000));
    const keys = await commands.keys('*');
    for (const key of keys) {
      expect(key).toMatch(/^leadtap:limits:(minute:\{.{22}\}|hour:\{.{22}\}|proof)$/);
      expect(await commands.pTTL(key)).toBeGreaterThan(0);
    }
    expect(keys.filter((key) => !key.endsWith('proof'))).toHaveLength(4);
  });

  it('begin anew where a window has no end, or one that lies too far away', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [{ name: 'minute', quota: 2, windowS: 60 }];
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, policies);
    // As after a clock that was set back, and after a PERSIST by hand.
    const meddle = [
      (key: string) => commands.pExpire(key, 3_600_000),
      (key: string) => commands.persist(key),
    ];
    for (const [i, change] of meddle.entries()) {
      await commands.flushDb();
      for (let n = 0; n < 3; n += 1) await limiter.consume(`ada ${i}`);
      for (const key of await commands.keys('leadtap:limits:minute:*')) await change(key);
      expect(await limiter.consume(`ada ${i}`)).toMatchObject({
        violated: [],
        windows: [{ remaining: 1, resetS: 60 }],
      });
    }
  });

  it('cost one question to Redis, also after it has forgotten the script', async () => {
    const { url } = await ownRedis();
    const commands = await redisCommands(url);
    const { limiter, limits } = await openInstance(url, USER_POLICIES);
    const calls = async () => {
      const stats = await commands.info('commandstats');
      return ['eval', 'evalsha'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      );
    };
    await commands.configResetStat();
    for (let i = 0; i < 10; i += 1) await limiter.consume('ada');
    expect(await calls()).toEqual([0, 10]);
    await commands.scriptFlush();
    await limiter.consume('ada');
    await limiter.consume('ada');
    expect(await calls()).toEqual([1, 12]);
    expect(limits.fallbacks).toBe(0);
  });

  it('need no more rights than the documented ones', async () => {
    const { url } = await ownRedis();
    const commands = await redisCommands(url);
    await commands.sendCommand(
      'ACL SETUSER leadtap reset on >secret ~leadtap:* +eval +evalsha +pttl +get +set +incr'.split(' '),
    );
    const restricted = url.replace('//', '//leadtap:secret@');
    const { limiter, limits, log } = await openInstance(restricted, USER_POLICIES);
    expect((await limiter.consume('cleo')).violated).toEqual([]);
    expect(limits.isUp).toBe(true);
    expect(log.lines).toEqual([]);
  });
});

describe('an instance', () => {
  it('knows without asking who was refused, for as long as that is sure', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [{ name: 'minute', quota: 1, windowS: 60 }];
    const { limiter } = await openInstance(url, policies);
    await limiter.consume('dora');
    expect(limiter.isExhausted?.('dora')).toBe(false);
    await limiter.consume('dora');
    expect(limiter.isExhausted?.('dora')).toBe(true);
    expect(limiter.isExhausted?.('emil')).toBe(false);
  });
});
