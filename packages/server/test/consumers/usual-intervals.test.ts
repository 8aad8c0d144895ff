import type { ConsumerPosition } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { mergePolls } from '../../src/consumers/merge-polls.ts';
import {
  activityOf,
  consumerStateOf,
  isAwaited,
  type ListedConsumer,
} from '../../src/status/consumer-states.ts';
import { summary } from './support/consumers.ts';

const START = Date.UTC(2026, 2, 2);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A consumer that has polled at these times. */
function polledAt(...times: readonly number[]): ConsumerPosition {
  let position: ConsumerPosition | undefined;
  for (const time of times)
    position = mergePolls(position, summary('boss', 'a', { lastPollAt: START + time }));
  if (!position) throw new Error('it has not polled');
  return position;
}

const every = (intervalMs: number, count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + index * intervalMs);

describe('the usual interval', () => {
  it('is unknown after one poll, and that of a steady client after two', () => {
    expect(polledAt(0).intervalMs).toBeNull();
    expect(polledAt(0, 2 * MINUTE).intervalMs).toBe(2 * MINUTE);
    expect(polledAt(...every(2 * MINUTE, 10)).intervalMs).toBe(2 * MINUTE);
  });

  it('of a client that reads several pages in a row is that of its pauses', () => {
    const rounds = every(15 * MINUTE, 20).flatMap((start) => [start, start + 5000, start + 10_000]);
    const { intervalMs } = polledAt(...rounds);
    expect(intervalMs).toBeGreaterThan(10 * MINUTE);
    expect(intervalMs).toBeLessThan(15 * MINUTE);
  });

  it('does not become that of an outage', () => {
    const times = [...every(MINUTE, 10), ...every(MINUTE, 30, 3 * DAY)];
    expect(polledAt(...times.slice(0, 11)).intervalMs).toBe(2.5 * MINUTE);
    expect(polledAt(...times).intervalMs).toBeLessThan(1.2 * MINUTE);
  });

  it('ignores a batch of another instance that arrives late', () => {
    const times = every(MINUTE, 5);
    expect(polledAt(...times, 30_000)).toEqual({ ...polledAt(...times), polls: 6 });
  });
});

describe('a clock that was set back', () => {
  const ahead = polledAt(...every(2 * MINUTE, 100, DAY));
  const waiting = { ...ahead, heldUntil: ahead.lastPollAt + 50_000 };
  const pollAt = (lastPollAt: number, writtenAt = lastPollAt + 5000) =>
    mergePolls(waiting, summary('boss', 'a', { lastPollAt, writtenAt, lastStatus: 403 }));

  it('sets the last poll back, so that a consumer that stops is stale in time', () => {
    const position = pollAt(START + MINUTE);
    expect(position).toMatchObject({
      ...{ firstPollAt: START + MINUTE, lastPollAt: START + MINUTE, lastStatus: 403 },
      ...{ heldUntil: null, intervalMs: 2 * MINUTE },
    });
    const next = mergePolls(position, summary('boss', 'a', { lastPollAt: START + 11 * MINUTE }));
    expect(activityOf(next, START + 30 * MINUTE)).toBe('stale');
  });

  it('is neither a batch that is written late nor the clock of another instance', () => {
    const { lastPollAt } = ahead;
    for (const position of [pollAt(START, lastPollAt), pollAt(lastPollAt - MINUTE, lastPollAt - MINUTE)])
      expect(position).toMatchObject({ lastPollAt, lastStatus: 200, heldUntil: lastPollAt + 50_000 });
  });
});

describe('a consumer', () => {
  const steady = polledAt(...every(2 * MINUTE, 100));
  const after = (consumer: Parameters<typeof activityOf>[0], elapsedMs: number) =>
    activityOf(consumer, consumer.lastPollAt + elapsedMs);

  it('is active for 1.5 intervals, then stale: within two intervals', () => {
    expect(after(steady, 3 * MINUTE)).toBe('active');
    expect(after(steady, 3 * MINUTE + 1)).toBe('stale');
    expect(after(steady, DAY)).toBe('stale');
  });

  it('with a short interval is active for 10 seconds longer, as polls are written every 5 seconds', () => {
    const short = polledAt(...every(5000, 121));
    expect(after(short, 15_000)).toBe('active');
    expect(after(short, 15_001)).toBe('stale');
  });

  it('for which no lead waits is stale for 10 times as long as it polled, but at most 7 days; then it no longer counts', () => {
    const long = polledAt(...every(DAY, 20));
    expect(after(long, 1.5 * DAY + 7 * DAY)).toBe('stale');
    expect(after(long, 1.5 * DAY + 7 * DAY + 1)).toBe('inactive');
    const tried = polledAt(...every(2.5 * MINUTE, 5));
    expect(after(tried, 103.75 * MINUTE)).toBe('stale');
    expect(after(tried, 103.75 * MINUTE + 1)).toBe('inactive');
  });

  it('with fewer than five polls, or in less than ten minutes, is active for 10 minutes or 1.5 intervals, and never stale', () => {
    for (const times of [[0], [0, 1000], every(3 * MINUTE, 4), every(MINUTE, 10)]) {
      expect(after(polledAt(...times), 10 * MINUTE)).toBe('active');
      expect(after(polledAt(...times), 10 * MINUTE + 1)).toBe('inactive');
    }
    expect(after(polledAt(0, 60 * MINUTE), 90 * MINUTE)).toBe('active');
    expect(after(polledAt(0, 60 * MINUTE), 90 * MINUTE + 1)).toBe('inactive');
  });

  it('for which leads wait is stale for ever, unless it polled once or twice', () => {
    const waiting = (position: ConsumerPosition) => ({
      ...{ ...position, confirmedThrough: START, pendingSince: START + 1 },
    });
    const short = waiting(polledAt(...every(2.5 * MINUTE, 5)));
    expect([after(short, DAY), after(short, 1000 * DAY)]).toEqual(['stale', 'stale']);
    const tried = waiting(polledAt(...every(MINUTE, 3)));
    expect([after(tried, DAY), after(tried, DAY + 1)]).toEqual(['active', 'stale']);
    const once = waiting(polledAt(0, 1000));
    expect([after(once, DAY), after(once, DAY + 1)]).toEqual(['active', 'inactive']);
    expect(after({ ...short, confirmedThrough: null }, 30 * DAY), 'no lead was there before').toBe('stale');
  });

  it('whose token was revoked is never stale: its client should stop', () => {
    const revoked = { ...steady, tokenEnded: 'revoked' } as const;
    expect([after(revoked, 3 * MINUTE), after(revoked, 3 * MINUTE + 1)]).toEqual(['active', 'inactive']);
    expect(after({ ...steady, tokenEnded: 'expired' }, 3 * MINUTE + 1)).toBe('stale');
  });
});

describe('a downtime of the service', () => {
  const steady = polledAt(...every(2 * MINUTE, 100));
  const { lastPollAt } = steady;
  const listed = (unavailableSince: number, availableSince: number): ListedConsumer => ({
    ...{ userId: 'boss', tokenId: 'a', name: null, companyId: 'acme', hook: undefined },
    downtimes: [],
    consumer: {
      ...{ ...steady, name: null, tokenIssuedAt: null, pendingLeads: 0, pendingSince: null },
      ...{ missedLeads: [], skippedLeads: 0, skippedSince: null, unconfirmedSince: null, tokenEnded: null },
      downtime: { unavailableSince, availableSince },
      user: {
        ...{ id: 'boss', companyId: 'acme', plan: 'PROFESSIONAL', accessLevel: 'COMPANY' },
        ...{ branchId: null, departmentId: null },
      },
    },
  });
  const at = (consumer: ListedConsumer, now: number) => [
    consumerStateOf(consumer, now),
    isAwaited(consumer, now),
  ];

  it('is not the fault of a consumer: it is awaited for 1.5 intervals after it, then stale', () => {
    const availableSince = lastPollAt + 60 * MINUTE;
    const consumer = listed(lastPollAt + MINUTE, availableSince);
    expect(at(consumer, availableSince)).toEqual(['active', true]);
    expect(at(consumer, availableSince + 3 * MINUTE)).toEqual(['active', true]);
    expect(at(consumer, availableSince + 3 * MINUTE + 1)).toEqual(['stale', false]);
    expect(at(consumer, availableSince - MINUTE), 'the clock was set back').toEqual(['active', true]);
  });

  it('changes nothing for a consumer that was late before, or has polled since', () => {
    const availableSince = lastPollAt + 60 * MINUTE;
    expect(at(listed(lastPollAt + 3 * MINUTE + 1, availableSince), availableSince)).toEqual(['stale', false]);
    const inactive = lastPollAt + 8 * DAY;
    expect(at(listed(inactive - MINUTE, inactive), inactive)).toEqual(['inactive', false]);
    const before = listed(lastPollAt - 60 * MINUTE, lastPollAt - MINUTE);
    expect(at(before, lastPollAt + MINUTE)).toEqual(['active', false]);
    expect(at(before, lastPollAt + 3 * MINUTE + 1)).toEqual(['stale', false]);
  });
});
