/** The bars of 24 hours: what is known of each hour of a consumer or a sender. */
import type { HourCounts } from '@leadtap/contract';
import { BAR_HOURS, HOUR_MS, hourOf, parseHours } from '../attempts/hours.ts';
import type { Downtime } from '../consumers/store.ts';

/** What is stored of a consumer, a webhook or a sender. */
export interface RecordedSubject {
  readonly hours: string | null;
  /** When something was last seen of it: an earlier version has counted nothing until then. */
  readonly lastAt: number;
}

/**
 * Oldest first, the last is the current hour. Null: it is not known, because nothing was recorded yet, or the service was unavailable in
 * the whole hour. A token that polls and its webhooks are one.
 */
export function last24hOf(
  subjects: readonly RecordedSubject[],
  now: number,
  downtimes: readonly Downtime[],
): (HourCounts | null)[] {
  const first = hourOf(now) - BAR_HOURS + 1;
  let recordedSince = Number.POSITIVE_INFINITY;
  const counts = new Map<number, HourCounts>();
  for (const { hours: stored, lastAt } of subjects) {
    const [since, ...hours] = stored === null ? [hourOf(lastAt) + 1] : parseHours(stored);
    recordedSince = Math.min(recordedSince, since);
    for (const [hour, leads, failed] of hours) {
      const before = counts.get(hour) ?? NOTHING;
      counts.set(hour, { leads: before.leads + leads, failed: before.failed + failed });
    }
  }
  return Array.from({ length: BAR_HOURS }, (_, index) => {
    const hour = first + index;
    const isKnown = hour >= recordedSince && !isUnavailable(hour, downtimes);
    return counts.get(hour) ?? (isKnown ? NOTHING : null);
  });
}

const NOTHING: HourCounts = { leads: 0, failed: 0 };

const isUnavailable = (hour: number, downtimes: readonly Downtime[]): boolean =>
  downtimes.some(
    ({ unavailableSince, availableSince }) =>
      unavailableSince <= hour * HOUR_MS && (hour + 1) * HOUR_MS <= availableSince,
  );
