import { memoryCheckpoint, newLeads } from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { serving } from './answering.ts';
import { ALL_WELL, type NetworkStep, type Schedule } from './model/schedule.ts';
import { shareLiveService } from './model/shared-live-service.ts';
import { Trial } from './model/trial.ts';

const parts = shareLiveService();

const CALM: Schedule = { isTransactional: false, beginsNow: false, random: 0.5, network: [], consumer: [] };
const lost: NetworkStep = { ...ALL_WELL, fault: 'answer-lost' };

/** Lives through the steps; gives how long that took by the clock of the test. */
async function live(schedule: Partial<Schedule>): Promise<number> {
  const { service, network } = parts();
  service.clock.advance(3_600_000);
  const begin = service.clock();
  const { taken, expected, broken } = await new Trial(service, network, { ...CALM, ...schedule }).finish();
  expect(broken).toEqual([]);
  expect(taken).toEqual(expected);
  return service.clock() - begin;
}

describe('a client that has more pages to fetch than it has requests left', () => {
  it('waits for the window to end, and earns no 429', async () => {
    const tookMs = await live({ network: [{ ...ALL_WELL, requestsLeft: 3, leadsBefore: 600 }] });
    expect(tookMs).toBe(60_000);
  });

  it('counts requests whose answers are lost', async () => {
    const network = [{ ...ALL_WELL, requestsLeft: 3, leadsBefore: 600 }, lost, lost];
    expect(await live({ network })).toBeGreaterThanOrEqual(60_000);
  });

  it('knows it after a restart, too', async () => {
    const network = [{ ...ALL_WELL, requestsLeft: 1, leadsBefore: 600 }];
    const consumer = [{ handling: 'throw', tookMs: 0 } as const];
    expect(await live({ network, consumer })).toBe(60_000);
  });

  it('treats a quota used by other clients as a refusal, and waits for Retry-After', async () => {
    const network = [ALL_WELL, { ...ALL_WELL, requestsLeft: 0, leadsBefore: 1 }];
    const tookMs = await live({ network });
    // Two minutes to the second poll, a minute's refusal, half of the first back-off.
    expect(tookMs).toBe(120_000 + 60_000 + 500);
  });
});

describe('a client whose requests fail again and again', () => {
  it('backs off twice as long each time, and for a minute at most', async () => {
    const network = Array.from({ length: 10 }, () => ({ ...ALL_WELL, fault: '500' as const }));
    const secondsAtMost = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60];
    const expectedMs = secondsAtMost.reduce((sum, s) => sum + 0.5 * s * 1000, 0);
    expect(await live({ network })).toBe(expectedMs);
  });

  it('waits as long as the service says, and a little longer', async () => {
    const network = [{ ...ALL_WELL, fault: '503' as const, retryAfterS: 42 }];
    expect(await live({ network })).toBe(42_500);
  });

  it('does not believe a wait that an earlier run wrote down by a wrong clock', async () => {
    const stop = new AbortController();
    const { url: baseUrl } = await serving(() => {
      stop.abort();
      return 'never';
    });
    const tomorrow = new Date(86_400_000).toISOString();
    const loop = newLeads({
      baseUrl,
      token: 'any',
      checkpoint: memoryCheckpoint({ since: '2026-03-02', triggerIds: [], notBefore: tomorrow }),
      signal: stop.signal,
      environment: { now: () => 0, sleep: () => expect.fail('it waits') },
    });
    expect(await loop.next()).toEqual({ done: true, value: undefined });
  });
});
