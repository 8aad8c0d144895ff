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
  #lastStamp = 0;

  constructor(clock: SteppedClock) {
    this.clock = clock;
  }

  write(ids: readonly string[], firstName: string, createdAt?: number): void {
    for (const id of ids.filter((id) => !this.#erased.has(id))) {
      const existing = this.leads.get(id);
      const at = existing?.createdAt ?? (createdAt === undefined ? this.#stamp(id) : this.#free(createdAt));
      this.#lastStamp = Math.max(this.#lastStamp, at);
      this.leads.set(id, { createdAt: at, firstName });
    }
  }

  /** Their stamps stay given. An erased lead that comes again is rejected. */
  erase(ids: readonly string[]): void {
    for (const id of ids) {
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

  #stamp(id: string): number {
    this.news.add(id);
    return Math.max(this.#lastStamp, this.clock.now) + 1;
  }

  #free(wanted: number): number {
    const taken = new Set([...this.leads.values()].map(({ createdAt }) => createdAt));
    let at = wanted;
    while (taken.has(at)) at += 1;
    return at;
  }
}
