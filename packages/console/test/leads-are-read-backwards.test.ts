import type { Lead } from '@leadtap/client';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createReadBack, spanOf, timeOf } from '../src/leads/read-back.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const PAGE = 100;

const leadAt = (time: number): Lead =>
  ({ automation_trigger_id: String(time), createdAt: new Date(time).toISOString() }) as Lead;

/** The endpoint: up to 100 leads after `since`, oldest first; `oldestFirst` is sorted. */
function createEndpoint(oldestFirst: readonly number[]) {
  const endpoint = {
    requests: 0,
    read: async (since: number) => {
      endpoint.requests += 1;
      let low = 0;
      for (let high = oldestFirst.length; low < high; ) {
        const middle = (low + high) >> 1;
        if ((oldestFirst[middle] ?? 0) > since) high = middle;
        else low = middle + 1;
      }
      return oldestFirst.slice(low, low + PAGE).map(leadAt);
    },
  };
  return endpoint;
}

/** The newest 100, then all others as the console loads them. The requests of each call are counted. */
async function readAll(oldestFirst: readonly number[]) {
  const endpoint = createEndpoint(oldestFirst);
  const readBack = createReadBack(endpoint.read);
  const loaded = oldestFirst.slice(-PAGE).toReversed().map(leadAt);
  const requests: number[] = [];
  for (let before = timeOf(loaded.at(-1) ?? leadAt(0)); before > 0; ) {
    const sent = endpoint.requests;
    const { leads, from } = await readBack(before, spanOf(loaded));
    requests.push(endpoint.requests - sent);
    loaded.push(...leads);
    before = from;
  }
  return { loaded: loaded.map(timeOf), requests, total: endpoint.requests };
}

const SECOND = 1000;
const DAY = 86_400 * SECOND;

/** Parts of a history, from now on back: a gap, then leads with about the same distance. */
const history = fc
  .array(
    fc.record({
      gapMs: fc.oneof(
        fc.constant(1),
        fc.integer({ min: 1, max: DAY }),
        fc.integer({ min: DAY, max: 400 * DAY }),
      ),
      count: fc.integer({ min: 1, max: 700 }),
      stepMs: fc.oneof(
        fc.constant(1),
        fc.integer({ min: 1, max: SECOND }),
        fc.integer({ min: 1, max: DAY / 4 }),
      ),
      jitter: fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 1, maxLength: 7 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => {
    const newestFirst: number[] = [];
    let time = NOW;
    for (const { gapMs, count, stepMs, jitter } of parts) {
      time -= gapMs;
      for (let index = 0; index < count; index += 1) {
        newestFirst.push(time);
        time -= 1 + Math.floor(stepMs * (jitter[index % jitter.length] ?? 1));
      }
    }
    return newestFirst.filter((at) => at > 0).toReversed();
  });

it('gets each lead once, newest first, without a gap, with a limited number of requests', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (oldestFirst) => {
      const { loaded, requests } = await readAll(oldestFirst);
      expect(loaded).toEqual(oldestFirst.toReversed());
      // Two for each halving of the time since 1970.
      expect(Math.max(...requests)).toBeLessThanOrEqual(2 * Math.log2(NOW));
    }),
  );
});

it('needs a request for each 60 leads or more if they arrive steadily', async () => {
  const steady = Array.from({ length: 6000 }, (_, index) => NOW - (6000 - index) * 60_000);
  const { loaded, total } = await readAll(steady);
  expect(loaded).toHaveLength(6000);
  expect(total).toBeLessThanOrEqual(100);
});

it('does not download an import of 100,000 leads to show those before a gap', async () => {
  const imported = Array.from({ length: 100_000 }, (_, index) => NOW - 90 * DAY + index);
  const recent = Array.from({ length: 100 }, (_, index) => NOW - (100 - index) * 3_600_000);
  const endpoint = createEndpoint([...imported, ...recent]);
  const loaded = recent.toReversed().map(leadAt);
  const { leads: found } = await createReadBack(endpoint.read)(recent[0] ?? 0, spanOf(loaded));
  expect(found.map(timeOf)).toEqual(imported.slice(-found.length).toReversed());
  expect(endpoint.requests).toBeLessThanOrEqual(50);
});

it('finds the end with one request more', async () => {
  const endpoint = createEndpoint([NOW - 5, NOW - 4]);
  const readBack = createReadBack(endpoint.read);
  expect(await readBack(NOW - 5, 1000)).toEqual({ leads: [], from: 0 });
  expect(endpoint.requests).toBe(2);
});
