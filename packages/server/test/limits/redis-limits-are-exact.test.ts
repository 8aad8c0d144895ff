import { describe, expect, it } from 'vitest';
import { makeTestRedis, ownRedis } from '../../../testing/harness/redis.ts';
import type { Policy } from '../../src/limits/limiter.ts';
import { eventually } from '../faults/eventually.ts';
import { atOnce, MINUTE_AND_HOUR, openInstance, redisCommands } from './support/redis-instances.ts';

describe('limits that are shared over Redis', () => {
  it('are separate for each user', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [{ name: 'minute', quota: 1, windowS: 3600 }];
    const { limiter } = await openInstance(url, policies);
    const unusual = [
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
    for (const key of [...unusual, 'x'.repeat(100_000)])
      expect((await limiter.consume(key)).violated, JSON.stringify(key.slice(0, 20))).toEqual([]);
    for (const key of unusual) expect((await limiter.consume(key)).violated).toEqual(['minute']);
  });

  it('expire, and leave nothing behind', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [
      { name: 'minute', quota: 2, windowS: 60 },
      { name: 'hour', quota: 5, windowS: 3600 },
    ];
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, policies);
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    const [key = ''] = await commands.keys('leadtap:*:minute+hour:*');
    const leftMs = await commands.pTTL(key);
    expect(leftMs).toBeGreaterThan(3_000_000);
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
    // Instead of waiting for an hour.
    await commands.pExpire(key, 1);
    await eventually(async () => expect(await commands.keys('*:minute+hour:*')).toEqual([]));
    expect(await limiter.consume('ada')).toMatchObject({
      violated: [],
      windows: [{ resetS: 60 }, { remaining: 4 }],
    });
  });

  it('store no user ids in Redis, and keep the keys short', async () => {
    const { url } = await makeTestRedis();
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, MINUTE_AND_HOUR);
    await limiter.consume('ada@example.com');
    await limiter.consume('x'.repeat(100_000));
    const keys = await commands.keys('*');
    for (const key of keys) {
      expect(key).toMatch(/^leadtap:\{limits\}:(minute\+hour:[\w-]{22}|self-test)$/);
      expect(await commands.pTTL(key)).toBeGreaterThan(0);
    }
    expect(keys.filter((key) => !key.endsWith('self-test'))).toHaveLength(2);
  });

  it('begin a new window where the stored one ends too late or is invalid', async () => {
    const { url } = await makeTestRedis();
    const policies: readonly Policy[] = [{ name: 'minute', quota: 2, windowS: 60 }];
    const commands = await redisCommands(url);
    const { limiter } = await openInstance(url, policies);
    const put = (value: string) => (key: string) =>
      commands.eval(`redis.call('set', KEYS[1], ${value})`, { keys: [key] });
    const inAnHour = `redis.call('time')[1] * 1000 + 3600000`;
    // As after a clock that was set back, and after a manual change.
    const changes = [put(`struct.pack('<I4I6', 2, ${inAnHour})`), put("'nothing'"), put("'2'"), put("''")];
    for (const [i, change] of changes.entries()) {
      const user = `ada ${i}`;
      await commands.flushDb();
      for (let n = 0; n < 3; n += 1) await limiter.consume(user);
      const [key = ''] = await commands.keys('*:minute:*');
      await change(key);
      expect(await limiter.consume(user)).toMatchObject({
        violated: [],
        windows: [{ remaining: 1, resetS: 60 }],
      });
      expect(await commands.pTTL(key)).toBeGreaterThan(0);
    }
  });

  it('have no negative remainder where a quota was lowered', async () => {
    const { url } = await makeTestRedis();
    const withQuota = (quota: number) => openInstance(url, [{ name: 'minute', quota, windowS: 3600 }]);
    const [before, after] = [await withQuota(5), await withQuota(2)];
    await atOnce(4, [before], 'ada');
    expect(await after.limiter.consume('ada')).toMatchObject({
      violated: ['minute'],
      windows: [{ remaining: 0 }],
    });
    expect(await before.limiter.consume('ada')).toMatchObject({ violated: [], windows: [{ remaining: 0 }] });
  });

  it('count concurrent requests in the order in which they arrived', async () => {
    const { url } = await makeTestRedis();
    const { limiter } = await openInstance(url, [{ name: 'minute', quota: 3, windowS: 3600 }]);
    const verdicts = await Promise.all(
      ['ada', 'ben', 'ada', 'ada', 'ben', 'ada', 'cleo'].map((key) => limiter.consume(key)),
    );
    expect(verdicts.map(({ windows, violated }) => [windows[0]?.remaining, violated.length])).toEqual([
      [2, 0],
      [2, 0],
      [1, 0],
      [0, 0],
      [1, 0],
      [0, 1],
      [2, 0],
    ]);
  });

  it('cost one command per batch, also after Redis has flushed the script', async () => {
    const { url } = await ownRedis();
    const commands = await redisCommands(url);
    const { limiter, limits } = await openInstance(url, MINUTE_AND_HOUR);
    const calls = async () => {
      const stats = await commands.info('commandstats');
      return ['eval', 'evalsha'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      );
    };
    await commands.configResetStat();
    for (let i = 0; i < 10; i += 1) await limiter.consume('ada');
    expect(await calls()).toEqual([0, 10]);
    await commands.configResetStat();
    await Promise.all(Array.from({ length: 250 }, (_, i) => limiter.consume(`user ${i}`)));
    // One batch for each 100 requests of a turn of the event loop.
    expect(await calls()).toEqual([0, 3]);
    await commands.configResetStat();
    const inOneTurn = [];
    for (let i = 0; i < 10; i += 1) {
      inOneTurn.push(limiter.consume(`user ${i}`));
      await Promise.resolve();
    }
    await Promise.all(inOneTurn);
    expect(await calls()).toEqual([0, 1]);
    await commands.configResetStat();
    await commands.scriptFlush();
    await limiter.consume('ada');
    await limiter.consume('ada');
    expect(await calls()).toEqual([1, 2]);
    expect(limits.fallbacks).toBe(0);
  });

  it('need only the documented permissions', async () => {
    const { url } = await ownRedis();
    const commands = await redisCommands(url);
    await commands.sendCommand(
      'ACL SETUSER leadtap reset on >secret ~leadtap:* +eval +evalsha +time +get +set'.split(' '),
    );
    const restricted = url.replace('//', '//leadtap:secret@');
    const { limiter, limits, log } = await openInstance(restricted, MINUTE_AND_HOUR);
    expect((await limiter.consume('cleo')).violated).toEqual([]);
    expect(limits.isUp).toBe(true);
    expect(log.lines).toEqual([]);
  });
});
