/** Whether the time without a new lead is longer than usual for this time of the week. */
import { takeTurn } from '../lib/event-loop.ts';
import type { Store } from '../store/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/**
 * Leads that arrive independently of each other leave a gap in which ten are expected once in 22,000 times (Poisson). Minutes are
 * counted, not leads, so that an import counts as one arrival. The same hours of both weeks before must have them: so neither a night, a
 * weekend nor a single busy day raises an alarm.
 */
const MIN_USUAL_MINUTES = 10;

type LeadCounter = Pick<Store, 'countLeadsByMinute'>;

export class LeadSilence {
  readonly #store: LeadCounter;
  /** For the minute until which it was counted. */
  #last: { readonly until: number; readonly isSilent: boolean } | undefined;

  constructor(store: LeadCounter) {
    this.#store = store;
  }

  /** The weeks before are counted only while no lead comes for ten minutes, and once a minute at most. */
  async isSilent(latestStamp: number, now: number): Promise<boolean> {
    if (latestStamp <= 0 || now - latestStamp < MIN_USUAL_MINUTES * MINUTE_MS) return false;
    const until = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const from = Math.max(Math.ceil(latestStamp / MINUTE_MS) * MINUTE_MS, until - DAY_MS);
    if (this.#last?.until !== until)
      this.#last = {
        until,
        isSilent:
          (await this.#isUsual(from - WEEK_MS, until - WEEK_MS)) &&
          (await this.#isUsual(from - 2 * WEEK_MS, until - 2 * WEEK_MS)),
      };
    return this.#last.isSilent;
  }

  /** Whether leads came in ten minutes of this time. Counts an hour at a time: SQLite answers nothing else meanwhile. */
  async #isUsual(from: number, until: number): Promise<boolean> {
    let minutes = 0;
    for (let start = from; start < until && minutes < MIN_USUAL_MINUTES; start += HOUR_MS) {
      const counts = await this.#store.countLeadsByMinute(start, Math.min(start + HOUR_MS, until));
      minutes += counts.length;
      await takeTurn();
    }
    return minutes >= MIN_USUAL_MINUTES;
  }
}
