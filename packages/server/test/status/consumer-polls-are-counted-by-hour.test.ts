import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import type { ConsumerKey } from '../../src/consumers/store.ts';
import { ConsumerPolls } from '../../src/status/consumer-polls.ts';

const HOUR_MS = 3_600_000;
const ADA = { userId: 'ada', tokenId: 'token-1' };
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

function start(maxConsumers?: number) {
  const clock = manualClock();
  const polls = new ConsumerPolls(clock, maxConsumers);
  const poll = (consumer: ConsumerKey, count = 1) =>
    polls.add({ ...consumer, lastPollAt: clock(), polls: count });
  return { clock, polls, poll };
}

describe('polls of a consumer', () => {
  it('are counted in their hour, the current one last', () => {
    const { clock, polls, poll } = start();
    expect(polls.read(ADA)).toBeNull();
    poll(ADA, 2);
    // It has begun to wait, and has not ended.
    poll(ADA, 0);
    expect(polls.read(ADA)).toEqual([...zeros(23), 2]);
    clock.advance(3 * HOUR_MS);
    poll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(20), 2, 0, 0, 1]);
    clock.advance(HOUR_MS);
    expect(polls.read(ADA)).toEqual([...zeros(19), 2, 0, 0, 1, 0]);
  });

  it('are those of one token of one user', () => {
    const { polls, poll } = start();
    poll(ADA);
    poll({ userId: 'ada', tokenId: null });
    poll({ userId: 'ada', tokenId: null });
    expect(polls.read(ADA)?.at(-1)).toBe(1);
    expect(polls.read({ userId: 'ada', tokenId: null })?.at(-1)).toBe(2);
    expect(polls.read({ userId: 'ben', tokenId: 'token-1' })).toBeNull();
  });

  it('are forgotten after a day, also those of an hour that is used again', () => {
    const { clock, polls, poll } = start();
    poll(ADA);
    clock.advance(23 * HOUR_MS);
    poll(ADA);
    expect(polls.read(ADA)).toEqual([1, ...zeros(22), 1]);
    clock.advance(HOUR_MS);
    poll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(22), 1, 1]);
    clock.advance(100 * HOUR_MS);
    expect(polls.read(ADA)).toBeNull();
    poll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(23), 1]);
  });

  it('are counted in the last hour after the clock was set back', () => {
    const { clock, polls, poll } = start();
    poll(ADA);
    clock.advance(-2 * HOUR_MS);
    poll(ADA);
    clock.advance(2 * HOUR_MS);
    expect(polls.read(ADA)).toEqual([...zeros(23), 2]);
  });

  it('need bounded memory: further consumers are counted when others have not polled for a day', () => {
    const { clock, polls, poll } = start(2);
    for (const userId of ['a', 'b', 'c']) poll({ userId, tokenId: null });
    expect(polls.read({ userId: 'b', tokenId: null })).not.toBeNull();
    expect(polls.read({ userId: 'c', tokenId: null })).toBeNull();
    clock.advance(24 * HOUR_MS);
    poll({ userId: 'c', tokenId: null });
    expect(polls.read({ userId: 'c', tokenId: null })?.at(-1)).toBe(1);
  });
});
