import { describe, expect, it } from 'vitest';
import { USER_POLICIES } from '../../src/limits/limiter.ts';
import { provenThen, startImpostor } from './impostor.ts';
import { atOnce, openInstance } from './sharing.ts';

const MINUTE = '*3 :1 :60000 :0';
const HOUR = '*3 :1 :3600000 :0';

/** Answers that the script never gives, as Redis would write them. */
const ANSWERS = [
  { name: 'no list', answer: '+OK' },
  { name: 'nothing', answer: '*-1' },
  { name: 'no window', answer: '*0' },
  { name: 'one window of two', answer: `*1 ${MINUTE}` },
  { name: 'a window too many', answer: `*3 ${MINUTE} ${HOUR} ${HOUR}` },
  { name: 'windows without their third number', answer: '*2 *2 :1 :60000 *2 :1 :3600000' },
  { name: 'words for numbers', answer: `*2 *3 +one :60000 :0 ${HOUR}` },
];

describe.each(ANSWERS)('a Redis that answers $name', ({ answer }) => {
  it('is away: memory counts, and one warning says why', async () => {
    const { port } = await startImpostor(
      provenThen((socket) => void socket.write(`${answer.replaceAll(' ', '\r\n')}\r\n`)),
    );
    const { limiter, limits, log } = await openInstance(`redis://127.0.0.1:${port}`, USER_POLICIES);
    expect(limits.isUp).toBe(true);
    const verdicts = await atOnce(3, [{ limiter }], 'ada');
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
