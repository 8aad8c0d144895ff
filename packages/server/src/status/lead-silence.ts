/** Whether the time without a new lead is longer than usual for this time of the week. */
import { toIso } from '../clock.ts';
import type { Store } from '../store/store.ts';
import { LeadHistory } from './lead-history.ts';
import type { LeadsStatus } from './report.ts';
import { HISTORY_MINUTES, MINUTE_MS } from './request-history.ts';

const HOUR_MS = 60 * MINUTE_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;
const WEEKS = [1, 2] as const;
/**
 * Leads that arrive independently of each other leave a gap in which ten are expected once in 22,000 times (Poisson). Minutes are
 * counted, not leads, so that an import counts as one arrival. The same hours of both weeks before must have them: so neither a night, a
 * weekend nor a single busy day raises an alarm.
 */
const MIN_USUAL_MINUTES = 10;

export class LeadSilence {
  /** Of the day up to this time one week and two weeks ago. */
  readonly #weeks: readonly LeadHistory[];

  constructor(store: Pick<Store, 'countLeadsByMinute'>) {
    this.#weeks = WEEKS.map(() => new LeadHistory(store));
  }

  /** The weeks before are counted only while no lead comes for ten minutes. */
  async read(latestStamp: number, now: number): Promise<LeadsStatus> {
    const silentMs = Math.max(0, now - latestStamp);
    const latestAt = latestStamp > 0 ? toIso(latestStamp) : null;
    const unknown = { latestAt, usualPerHour: null, isSilent: false };
    if (latestStamp <= 0 || silentMs < MIN_USUAL_MINUTES * MINUTE_MS) return unknown;
    const until = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const from = Math.max(
      Math.ceil(latestStamp / MINUTE_MS) * MINUTE_MS,
      until - (HISTORY_MINUTES - 1) * MINUTE_MS,
    );
    let usual = 0;
    let isSilent = true;
    for (const [index, history] of this.#weeks.entries()) {
      const agoMs = (index + 1) * WEEK_MS;
      if (!(await history.refresh(now - agoMs))) return unknown;
      usual += history.read(from - agoMs, until - agoMs) / WEEKS.length;
      isSilent &&= history.countMinutes(from - agoMs, until - agoMs) >= MIN_USUAL_MINUTES;
    }
    const usualPerHour = Number(((usual * HOUR_MS) / (until - from)).toPrecision(3));
    return { latestAt, usualPerHour, isSilent };
  }
}
