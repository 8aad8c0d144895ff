/** The leads that were created in each minute of the last 24 hours, counted in the database, whichever program wrote them. */
import { setImmediate } from 'node:timers/promises';
import type { Store } from '../store/store.ts';
import { HISTORY_MINUTES, MINUTE_MS } from './request-history.ts';

/** A query counts an hour at most: SQLite answers nothing else meanwhile. */
const MAX_QUERY_MS = 60 * MINUTE_MS;
/** The last minutes are counted again: a transaction may commit a lead after its minute has passed. */
const RECOUNTED_MS = 2 * MINUTE_MS;

export class LeadHistory {
  readonly #store: Pick<Store, 'countLeadsByMinute'>;
  readonly #counts = new Map<number, number>();
  /** All minutes before this time are counted. */
  #countedUntil = 0;
  #running: Promise<boolean> | undefined;

  constructor(store: Pick<Store, 'countLeadsByMinute'>) {
    this.#store = store;
  }

  /**
   * Counts the minutes that are not counted yet, up to the current one. Called for each view of the page, and never without one.
   * False if the store cannot count leads.
   */
  refresh(now: number): Promise<boolean> {
    this.#running ??= this.#count(now).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #count(now: number): Promise<boolean> {
    if (!this.#store.countLeadsByMinute) return false;
    const current = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const end = current + MINUTE_MS;
    const begin = end - HISTORY_MINUTES * MINUTE_MS;
    for (const minute of this.#counts.keys()) if (minute < begin) this.#counts.delete(minute);
    // If the clock was set back, nothing of what was counted is known to be complete.
    const countedUntil = this.#countedUntil > current ? begin : this.#countedUntil;
    for (let from = Math.max(begin, countedUntil); from < end; from += MAX_QUERY_MS) {
      const until = Math.min(from + MAX_QUERY_MS, end);
      const counted = await this.#store.countLeadsByMinute(from, until);
      for (let minute = from; minute < until; minute += MINUTE_MS) this.#counts.delete(minute);
      for (const { minute, count } of counted) this.#counts.set(minute, count);
      this.#countedUntil = Math.min(until, current - RECOUNTED_MS);
      await setImmediate();
    }
    return true;
  }

  /** The leads of the minutes from one time until another, both full minutes. */
  read(from: number, until: number): number {
    let leads = 0;
    for (let minute = from; minute < until; minute += MINUTE_MS) leads += this.#counts.get(minute) ?? 0;
    return leads;
  }

  /** The number of minutes with a lead. */
  countMinutes(from: number, until: number): number {
    let minutes = 0;
    for (let minute = from; minute < until; minute += MINUTE_MS) if (this.#counts.has(minute)) minutes += 1;
    return minutes;
  }
}
