import { describe, expect, it } from 'vitest';
import { LeadHistory } from '../../src/status/lead-history.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW = Date.UTC(2026, 2, 2, 9, 30, 20);
const MINUTE = NOW - 20_000;

/** A store whose leads the test sets, by minute, with the queries that it got. */
function start() {
  const leads = new Map<number, number>();
  const queries: { from: number; until: number }[] = [];
  const history = new LeadHistory({
    countLeadsByMinute: async (from, until) => {
      queries.push({ from, until });
      return [...leads].flatMap(([minute, count]) =>
        minute >= from && minute < until ? [{ minute, count }] : [],
      );
    },
  });
  return { leads, queries, history };
}

describe('the leads of the last day', () => {
  it('are counted in steps of at most an hour', async () => {
    const { leads, queries, history } = start();
    leads
      .set(MINUTE, 1)
      .set(MINUTE - 23 * HOUR_MS, 2)
      .set(MINUTE - 25 * HOUR_MS, 4);
    await history.refresh(NOW);
    expect(history.read(MINUTE - 48 * HOUR_MS, MINUTE + MINUTE_MS)).toBe(3);
    expect(queries).toHaveLength(24);
    expect(Math.max(...queries.map(({ from, until }) => until - from))).toBe(HOUR_MS);
  });

  it('are then counted for the last three minutes only, again', async () => {
    const { leads, queries, history } = start();
    await history.refresh(NOW);
    queries.length = 0;
    leads.set(MINUTE - MINUTE_MS, 5).set(MINUTE, 7);
    await history.refresh(NOW);
    expect(queries).toEqual([{ from: MINUTE - 2 * MINUTE_MS, until: MINUTE + MINUTE_MS }]);
    expect(history.read(MINUTE - HOUR_MS, MINUTE + MINUTE_MS)).toBe(12);
    leads.delete(MINUTE);
    await history.refresh(NOW);
    expect(history.read(MINUTE - HOUR_MS, MINUTE + MINUTE_MS)).toBe(5);
  });

  it('are counted for the time in which the page was closed', async () => {
    const { leads, queries, history } = start();
    await history.refresh(NOW);
    queries.length = 0;
    leads.set(MINUTE + HOUR_MS, 3);
    await history.refresh(NOW + 2 * HOUR_MS);
    expect(history.read(MINUTE, MINUTE + 3 * HOUR_MS)).toBe(3);
    expect(queries[0]?.from).toBe(MINUTE - 2 * MINUTE_MS);
    expect(queries.at(-1)?.until).toBe(MINUTE + 2 * HOUR_MS + MINUTE_MS);
  });

  it('are counted anew after the clock was set back', async () => {
    const { leads, history } = start();
    await history.refresh(NOW);
    leads.set(MINUTE - 2 * HOUR_MS, 9);
    await history.refresh(NOW - HOUR_MS);
    expect(history.read(MINUTE - 3 * HOUR_MS, MINUTE)).toBe(9);
  });

  it('are counted once for calls at the same time', async () => {
    const { queries, history } = start();
    await Promise.all([history.refresh(NOW), history.refresh(NOW)]);
    expect(queries).toHaveLength(24);
  });

  it('are unknown if the store cannot count them', async () => {
    expect(await new LeadHistory({}).refresh(NOW)).toBe(false);
  });
});
