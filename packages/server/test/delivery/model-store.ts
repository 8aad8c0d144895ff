import assert from 'node:assert/strict';
import type { SteppedClock } from './stepped-clock.ts';

export interface ModelLead {
  readonly createdAt: number;
  readonly firstName: string;
}

/** What a store should hold: the rule for stamps, and that an update keeps them, in as few lines as can be. */
export class ModelStore {
  readonly clock: SteppedClock;
  readonly leads = new Map<string, ModelLead>();
  /** The leads that are news: all that were not imported as history. */
  readonly news = new Set<string>();
  readonly #erased = new Set<string>();
  readonly #erasedStamps = new Set<number>();
  #lastStamp = 0;

  constructor(clock: SteppedClock) {
    this.clock = clock;
  }

  write(ids: readonly string[], firstName: string): void {
    this.#put(ids, firstName, (id) => {
      this.news.add(id);
      return Math.max(this.#lastStamp, this.clock.now) + 1;
    });
  }

  /** Each gets a free millisecond. Which one is up to the store, because it may pass over those of erased leads. */
  writeHistory(
    ids: readonly string[],
    firstName: string,
    wanted: number,
    given: ReadonlyMap<string, number>,
  ): void {
    this.#put(ids, firstName, (id) => {
      const at = given.get(id) ?? Number.NaN;
      const taken = new Set([...this.leads.values()].map(({ createdAt }) => createdAt));
      let first = wanted;
      while (first < at && (taken.has(first) || this.#erasedStamps.has(first))) first += 1;
      assert.equal(at, first, `${id} could have an earlier time`);
      assert.ok(!taken.has(at), `${id} has the time of another lead`);
      return at;
    });
  }

  /** Their stamps stay given. An erased lead that comes again is rejected. */
  erase(ids: readonly string[]): void {
    for (const id of ids) {
      const { createdAt } = this.leads.get(id) ?? {};
      if (createdAt !== undefined) this.#erasedStamps.add(createdAt);
      this.leads.delete(id);
      this.news.delete(id);
      this.#erased.add(id);
    }
  }

  allowErased(ids: readonly string[]): void {
    for (const id of ids) this.#erased.delete(id);
  }

  /** Oldest first. */
  list(): (ModelLead & { readonly id: string })[] {
    const leads = [...this.leads].map(([id, lead]) => ({ id, ...lead }));
    return leads.sort((a, b) => a.createdAt - b.createdAt);
  }

  #put(ids: readonly string[], firstName: string, stampOf: (id: string) => number): void {
    for (const id of ids.filter((id) => !this.#erased.has(id))) {
      const createdAt = this.leads.get(id)?.createdAt ?? stampOf(id);
      this.#lastStamp = Math.max(this.#lastStamp, createdAt);
      this.leads.set(id, { createdAt, firstName });
    }
  }
}
