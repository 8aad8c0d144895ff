import { describe, expect, it } from 'vitest';
import { USER_POLICIES } from '../../src/limits/limiter.ts';
import { provenThen, startImpostor } from './impostor.ts';
import { atOnce, openInstance } from './sharing.ts';

const MINUTE = ':1 :60000';
const HOUR = ':1 :3600000';

/** Answers that the script never gives to one user, as Redis would write them. */
const ANSWERS = [
  { name: 'no list', answer: '+OK' },
  { name: 'nothing', answer: '*-1' },
  { name: 'an empty list', answer: '*0' },
  { name: 'one window of two', answer: `*3 :0 ${MINUTE}` },
  { name: 'a window too many', answer: `*7 :0 ${MINUTE} ${HOUR} ${HOUR}` },
  { name: 'for a user too many', answer: `*10 :0 ${MINUTE} ${HOUR} :0 ${MINUTE} ${HOUR}` },
  { name: 'words for numbers', answer: `*5 :0 +one :60000 ${HOUR}` },
  { name: 'as older versions did', answer: '*2 *3 :1 :60000 :0 *3 :1 :3600000 :0' },
];

describe.each(ANSWERS)('a Redis that answers $name', ({ answer }) => {
  it('is away: memory counts, and one warning says why', async () => {
    const { port } = await startImpostor(
      provenThen((socket) => void socket.write(`${answer.replaceAll(' ', '\r\n')}\r\n`)),
    );
    const { limiter, limits, log } = await openInstance(`redis://127.0.0.1:${port}`, USER_POLICIES);
    expect(limits.isUp).toBe(true);
    const verdicts = [await limiter.consume('ada'), ...(await atOnce(2, [{ limiter }], 'ada'))];
    expect(verdicts.map(({ windows }) => windows.map(({ remaining }) => remaining))).toEqual([
      [99, 999],
      [98, 998],
      [97, 997],
    ]);
    expect(limits).toMatchObject({ isUp: false, fallbacks: 3 });
    expect(log.lines).toMatchObject([
      { level: 'warn', details: { reason: 'the answer is not one of our script' } },
    ]);
  });
});
