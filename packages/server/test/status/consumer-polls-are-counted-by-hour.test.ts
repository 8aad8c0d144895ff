import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { ConsumerPolls } from '../../src/ops/consumer-polls.ts';

const HOUR_MS = 3_600_000;
const ADA = { userId: 'ada', tokenId: 'token-1' };
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

function start(maxConsumers?: number) {
  const clock = manualClock();
  return { clock, polls: new ConsumerPolls(clock, maxConsumers) };
}

describe('polls of a consumer', () => {
  it('are counted in their hour, the current one last', () => {
    const { clock, polls } = start();
    expect(polls.read(ADA)).toBeNull();
    polls.recordPoll(ADA);
    polls.recordPoll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(23), 2]);
    clock.advance(3 * HOUR_MS);
    polls.recordPoll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(20), 2, 0, 0, 1]);
    clock.advance(HOUR_MS);
    expect(polls.read(ADA)).toEqual([...zeros(19), 2, 0, 0, 1, 0]);
  });

  it('are those of one token of one user', () => {
    const { polls } = start();
    polls.recordPoll(ADA);
    polls.recordPoll({ userId: 'ada' });
    polls.recordPoll({ userId: 'ada' });
    expect(polls.read(ADA)?.at(-1)).toBe(1);
    expect(polls.read({ userId: 'ada', tokenId: null })?.at(-1)).toBe(2);
    // As for positions: the id of this token cannot be stored.
    polls.recordPoll({ userId: 'ada', tokenId: 'x'.repeat(201) });
    expect(polls.read({ userId: 'ada', tokenId: null })?.at(-1)).toBe(3);
    expect(polls.read({ userId: 'ben', tokenId: 'token-1' })).toBeNull();
  });

  it('are forgotten after a day, also those of an hour that is used again', () => {
    const { clock, polls } = start();
    polls.recordPoll(ADA);
    clock.advance(23 * HOUR_MS);
    polls.recordPoll(ADA);
    expect(polls.read(ADA)).toEqual([1, ...zeros(22), 1]);
    clock.advance(HOUR_MS);
    polls.recordPoll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(22), 1, 1]);
    clock.advance(100 * HOUR_MS);
    expect(polls.read(ADA)).toBeNull();
    polls.recordPoll(ADA);
    expect(polls.read(ADA)).toEqual([...zeros(23), 1]);
  });

  it('are counted in the last hour after the clock was set back', () => {
    const { clock, polls } = start();
    polls.recordPoll(ADA);
    clock.advance(-2 * HOUR_MS);
    polls.recordPoll(ADA);
    clock.advance(2 * HOUR_MS);
    expect(polls.read(ADA)).toEqual([...zeros(23), 2]);
  });

  it('need bounded memory: further consumers are counted when others have not polled for a day', () => {
    const { clock, polls } = start(2);
    for (const userId of ['a', 'b', 'c']) polls.recordPoll({ userId });
    expect(polls.read({ userId: 'b', tokenId: null })).not.toBeNull();
    expect(polls.read({ userId: 'c', tokenId: null })).toBeNull();
    clock.advance(24 * HOUR_MS);
    polls.recordPoll({ userId: 'c' });
    expect(polls.read({ userId: 'c', tokenId: null })?.at(-1)).toBe(1);
  });
});
