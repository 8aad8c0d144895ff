import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import type { PollObservation } from '../../src/poll/observer.ts';
import { RequestHistory } from '../../src/status/request-history.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

const observation = (rest: Partial<PollObservation> = {}): PollObservation => ({
  ...{ status: 200, durationMs: 2, waitedMs: 0, leads: 0, feedLagMs: undefined, unlocked: false },
  violatedPolicies: [],
  ...rest,
});
const EMPTY = { polls: 0, p99Ms: null, rateLimited: 0, rejected: 0, failed: 0 };

function start() {
  const clock = manualClock();
  const history = new RequestHistory(clock);
  const from = clock();
  return { clock, history, from, readAll: () => history.read(clock() - DAY_MS, clock() + MINUTE_MS) };
}

describe('the history of requests', () => {
  it('is empty at the start', () => {
    const { history, from, readAll } = start();
    expect(history.startedAt).toBe(from);
    expect(readAll()).toEqual(EMPTY);
  });

  it('counts polls in their minute', () => {
    const { history, clock, from } = start();
    history.observe(observation());
    clock.advance(59_999);
    history.observe(observation());
    clock.advance(1);
    history.observe(observation());
    expect(history.read(from, from + MINUTE_MS).polls).toBe(2);
    expect(history.read(from + MINUTE_MS, from + 2 * MINUTE_MS).polls).toBe(1);
    expect(history.read(from, from + 2 * MINUTE_MS).polls).toBe(3);
    expect(history.read(from + 2 * MINUTE_MS, from + 3 * MINUTE_MS)).toEqual(EMPTY);
  });

  it('counts refusals and failures', () => {
    const { history, readAll } = start();
    for (const status of [400, 401, 403, 404, 422, 429, 429, 500, 503, 503]) history.countRefusal(status);
    expect(readAll()).toMatchObject({ polls: 0, rejected: 5, rateLimited: 2, failed: 3 });
  });

  it('has the 99th percentile within 10 %, without the time that a poll waited', () => {
    const { history, readAll } = start();
    for (let n = 0; n < 980; n += 1) history.observe(observation({ durationMs: 1 }));
    for (let n = 0; n < 20; n += 1) history.observe(observation({ durationMs: 5040, waitedMs: 5000 }));
    const { p99Ms } = readAll();
    expect(p99Ms).toBeGreaterThan(36);
    expect(p99Ms).toBeLessThan(44);
  });

  it.each([0, -0.01, 1e9])('accepts a duration of %f ms', (durationMs) => {
    const { history, readAll } = start();
    history.observe(observation({ durationMs }));
    expect(readAll().p99Ms).toBeGreaterThan(0);
    expect(readAll().p99Ms).toBeLessThan(6000);
  });

  it('forgets a minute after a day, and a clock that is set back mixes no minutes', () => {
    const { history, clock, from } = start();
    history.observe(observation());
    history.countRefusal(503);
    clock.advance(DAY_MS);
    expect(history.read(from + DAY_MS, from + DAY_MS + MINUTE_MS)).toEqual(EMPTY);
    history.observe(observation());
    expect(history.read(from, from + MINUTE_MS)).toEqual(EMPTY);
    expect(history.read(from + DAY_MS, from + DAY_MS + MINUTE_MS)).toMatchObject({ polls: 1, failed: 0 });
    clock.advance(-2 * DAY_MS);
    history.observe(observation());
    expect(history.read(from - DAY_MS, from - DAY_MS + MINUTE_MS)).toMatchObject({ polls: 1, failed: 0 });
  });
});
