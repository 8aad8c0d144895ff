/** What happened in each hour, for bars of 24 hours: one text in the row of a consumer, a webhook or a sender. */
import { MAX_CLOCK_SKEW_MS } from '../lib/clock.ts';
import { isFailure } from './merge-attempts.ts';
import type { Attempt } from './store.ts';

/** `hour`: in UTC, counted from 1970. */
export type HourCounts = readonly [hour: number, leads: number, failed: number];

/** As JSON. Hours since the first in which nothing happened are left out. */
export type RecordedHours = readonly [since: number, ...hours: HourCounts[]];

export const HOUR_MS = 3_600_000;
/** The current one, and those before it. */
export const BAR_HOURS = 24;

export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

export const hoursOf = (attempts: readonly Attempt[]): readonly HourCounts[] =>
  attempts
    .map((one): HourCounts => {
      const leads = one.kind === 'leads' ? one.leads : 0;
      return [hourOf(one.at), leads, isFailure(one) ? one.times : 0];
    })
    .filter(([, leads, failed]) => leads + failed > 0);

export const parseHours = (stored: string): RecordedHours => JSON.parse(stored);

/** Two instances may write in any order. Most writes add nothing, and parse nothing. */
export function addHours(stored: string | null, added: readonly HourCounts[], now: number): string {
  if (stored !== null && added.length === 0) return stored;
  const current = hourOf(now);
  const [since, ...known] = stored === null ? [current] : parseHours(stored);
  const counts = new Map<number, HourCounts>();
  for (const [hour, leads, failed] of [...known, ...added]) {
    // An hour of the future is of a clock that was set back since.
    if (hour < current - BAR_HOURS || hour > hourOf(now + MAX_CLOCK_SKEW_MS)) continue;
    const [, leadsBefore = 0, failedBefore = 0] = counts.get(hour) ?? [];
    counts.set(hour, [hour, leadsBefore + leads, failedBefore + failed]);
  }
  const hours = [...counts.values()].sort(([a], [b]) => a - b);
  const first = Math.min(since, current, hours[0]?.[0] ?? current);
  return JSON.stringify([first, ...hours] satisfies RecordedHours);
}
