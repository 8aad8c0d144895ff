import { describe, expect, it } from 'vitest';
import { afterSelfTest, startFakeRedis } from './support/fake-redis.ts';
import { atOnce, MINUTE_AND_HOUR, openInstance } from './support/redis-instances.ts';

const MINUTE = ':1 :60000';
const HOUR = ':1 :3600000';

/** Replies that the script never gives for one user, in the format of Redis. */
const REPLIES = [
  { name: 'no list', answer: '+OK' },
  { name: 'nothing', answer: '*-1' },
  { name: 'an empty list', answer: '*0' },
  { name: 'one window of two', answer: `*3 :0 ${MINUTE}` },
  { name: 'a window too many', answer: `*7 :0 ${MINUTE} ${HOUR} ${HOUR}` },
  { name: 'for a user too many', answer: `*10 :0 ${MINUTE} ${HOUR} :0 ${MINUTE} ${HOUR}` },
  { name: 'words for numbers', answer: `*5 :0 +one :60000 ${HOUR}` },
  { name: 'as older versions did', answer: '*2 *3 :1 :60000 :0 *3 :1 :3600000 :0' },
];

describe.each(REPLIES)('a Redis that replies $name', ({ answer }) => {
  it('is disconnected: the memory limiter counts, and one warning has the reason', async () => {
    const { port } = await startFakeRedis(
      afterSelfTest((socket) => void socket.write(`${answer.replaceAll(' ', '\r\n')}\r\n`)),
    );
    const { limiter, limits, log } = await openInstance(`redis://127.0.0.1:${port}`, MINUTE_AND_HOUR);
    expect(limits.isUp).toBe(true);
    const verdicts = [await limiter.consume('ada', 5), ...(await atOnce(2, [{ limiter }], 'ada'))];
    expect(verdicts.map(({ windows }) => windows.map(({ remaining }) => remaining))).toEqual([
      [95, 995],
      [94, 994],
      [93, 993],
    ]);
    expect(limits).toMatchObject({ isUp: false, fallbacks: 3 });
    expect(log.lines).toMatchObject([
      { level: 'warn', details: { reason: 'unexpected reply to the rate limit script' } },
    ]);
  });
});
