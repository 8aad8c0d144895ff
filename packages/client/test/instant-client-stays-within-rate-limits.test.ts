import { memoryCheckpoint, newLeads } from '@leadtap/client';
import { USER_WINDOWS } from '@leadtap/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HourOptions, SimulatedHour } from './model/simulated-hour.ts';

const HOUR_MS = 3_600_000;
/** One request of the narrowest window. */
const PAUSE_MS = Math.max(...USER_WINDOWS.map(({ quota, windowS }) => (windowS * 1000) / quota));

interface Run {
  readonly hour: SimulatedHour;
  readonly ids: readonly string[];
  /** The longest time from the commit of a lead to its delivery. */
  readonly longestMs: number;
  /** The longest time without a lead, after the first one. */
  readonly longestPauseMs: number;
}

/** Follows the service until the last lead has come, or for `untilMs`. */
async function follow(options: HourOptions, untilMs = Number.POSITIVE_INFINITY): Promise<Run> {
  const hour = new SimulatedHour(options);
  const stop = new AbortController();
  const ids: string[] = [];
  let longestMs = 0;
  let longestPauseMs = 0;
  let lastMs = Number.POSITIVE_INFINITY;
  const simulated = hour.environment();
  const environment = {
    ...simulated,
    fetch: (...request: Parameters<typeof simulated.fetch>) => {
      if (hour.nowMs >= untilMs) stop.abort();
      return simulated.fetch(...request);
    },
  };
  const leads = newLeads({
    baseUrl: 'https://leads.example.com',
    token: 'any',
    since: hour.start,
    signal: stop.signal,
    instant: true,
    environment,
  });
  for await (const { id } of leads) {
    ids.push(id);
    longestMs = Math.max(longestMs, hour.nowMs - hour.arrivalOf(id));
    longestPauseMs = Math.max(longestPauseMs, hour.nowMs - lastMs);
    lastMs = hour.nowMs;
    if (untilMs === Number.POSITIVE_INFINITY && ids.length === options.arrivalsMs.length) stop.abort();
  }
  return { hour, ids, longestMs, longestPauseMs };
}

const everyMs = (ms: number, count: number) => Array.from({ length: count }, (_, n) => Math.round(n * ms));
const idsOf = (arrivals: readonly unknown[]) => arrivals.map((_, n) => String(n));
const distinct = (times: readonly number[]) => [...new Set(times)].sort((a, b) => a - b);

describe('an hour with 5,000 leads', () => {
  it('one by one: no 429, and each lead is there after one pause', async () => {
    const arrivalsMs = everyMs(HOUR_MS / 5000, 5000);
    const { hour, ids, longestMs } = await follow({ arrivalsMs });
    expect(ids).toEqual(idsOf(arrivalsMs));
    expect(hour.statuses).not.toContain(429);
    expect(longestMs).toBeLessThan(PAUSE_MS + 100);
    expect(hour.statuses.length).toBeLessThanOrEqual(Math.ceil(HOUR_MS / PAUSE_MS) + 1);
  });

  it('at random times, in rushes and lulls: no 429, and each lead is there after one pause', async () => {
    const at = fc.oneof(
      fc.integer({ min: 1, max: HOUR_MS }),
      fc.integer({ min: HOUR_MS / 2, max: HOUR_MS / 2 + 600_000 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(at, { minLength: 5000, maxLength: 5000 }), async (times) => {
        const arrivalsMs = distinct(times);
        const { hour, ids, longestMs } = await follow({ arrivalsMs });
        expect(ids).toEqual(idsOf(arrivalsMs));
        expect(hour.statuses).not.toContain(429);
        expect(longestMs).toBeLessThan(PAUSE_MS + 100);
      }),
      { numRuns: 5, endOnFailure: true },
    );
  });

  it('all at once, then 100 every second: read without a pause, then never locked out', async () => {
    const backlog = everyMs(1, 5000);
    const rest = everyMs(10, 60_000).map((at) => 10_000 + at);
    const { hour, ids, longestPauseMs } = await follow({ arrivalsMs: [...backlog, ...rest] });
    expect(ids).toHaveLength(65_000);
    expect(hour.statuses).not.toContain(429);
    // Half of a quota is used at once; the other half is spread over the rest of the window.
    expect(longestPauseMs).toBeLessThan(3 * PAUSE_MS);
  });

  it('while other programs of the user send 100 requests: no 429, and each lead is there after three pauses', async () => {
    const arrivalsMs = everyMs(HOUR_MS / 5000, 5000);
    const { hour, ids, longestMs } = await follow({ arrivalsMs, othersMs: everyMs(HOUR_MS / 100, 100) });
    expect(ids).toEqual(idsOf(arrivalsMs));
    expect(hour.statuses).not.toContain(429);
    expect(longestMs).toBeLessThan(3 * PAUSE_MS);
  });
});

describe('a quiet hour', () => {
  it('needs 72 requests, and a lead is there at once', async () => {
    const { hour, ids, longestMs } = await follow({ arrivalsMs: [1_234_567] }, HOUR_MS);
    expect(ids).toEqual(['0']);
    expect(longestMs).toBeLessThan(100);
    expect(hour.statuses.length).toBeLessThanOrEqual(75);
    expect(new Set(hour.prefers)).toEqual(new Set(['wait=50']));
  });

  it('behind a proxy that ends silent requests after 30 seconds: one error, then shorter waits', async () => {
    const options = { arrivalsMs: [HOUR_MS / 2], proxyLimitMs: 30_000 };
    const { hour, ids, longestMs } = await follow(options, HOUR_MS);
    expect(ids).toEqual(['0']);
    expect(longestMs).toBeLessThan(100);
    expect(hour.prefers.slice(0, 3)).toEqual(['wait=50', 'wait=15', 'wait=15']);
  });

  it('of a service that cannot wait: it is polled every 2 minutes', async () => {
    const { hour } = await follow({ arrivalsMs: [], ignoresWait: true }, HOUR_MS);
    expect(hour.statuses.length).toBe(30);
  });
});

it('each lead is taken once, oldest first, whatever fails, with a checkpoint over restarts', async () => {
  const fault = fc.option(fc.constantFrom('answer-lost' as const, '503' as const, 'cut-by-proxy' as const), {
    nil: undefined,
    freq: 2,
  });
  const history = fc.record({
    times: fc.array(fc.integer({ min: 1, max: HOUR_MS }), { minLength: 1, maxLength: 400 }),
    faults: fc.array(fault, { maxLength: 60 }),
    // After how many leads the program is stopped and started again.
    restarts: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ times, faults, restarts }) => {
      const arrivalsMs = distinct(times);
      const hour = new SimulatedHour({ arrivalsMs, faultOf: (request) => faults[request] });
      const checkpoint = memoryCheckpoint();
      const ids: string[] = [];
      for (const count of [...restarts, Number.POSITIVE_INFINITY]) {
        const stop = new AbortController();
        const stopAt = Math.min(arrivalsMs.length, ids.length + count);
        if (ids.length === stopAt) break;
        const options = {
          baseUrl: 'https://leads.example.com',
          token: 'any',
          since: hour.start,
          instant: true,
        };
        const environment = hour.environment();
        for await (const { id } of newLeads({ ...options, checkpoint, environment, signal: stop.signal })) {
          ids.push(id);
          if (ids.length >= stopAt) stop.abort();
        }
      }
      expect(ids).toEqual(idsOf(arrivalsMs));
      expect(hour.statuses).not.toContain(429);
    }),
    { numRuns: 15 },
  );
});
