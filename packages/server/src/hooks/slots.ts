/** The events in flight. Their slots are shared by companies: receivers of one that hang must not delay the events of others. */
export class Slots {
  readonly #max: number;
  readonly #onFreed: (companyId: string) => void;
  readonly #byCompany = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  /** `onFreed`: the company had its share until now, so others of its events may have waited for the slot. */
  constructor(max: number, onFreed: (companyId: string) => void) {
    this.#max = max;
    this.#onFreed = onFreed;
  }

  get taken(): number {
    return this.#running.size;
  }

  get free(): number {
    return this.#max - this.taken;
  }

  /** Runs this in a slot of the company. Returns false, and runs nothing, if the company has its share. */
  run(companyId: string, isRetry: boolean, work: () => Promise<void>): boolean {
    if (this.#isFull(companyId, isRetry)) return false;
    this.#byCompany.set(companyId, this.#takenBy(companyId) + 1);
    const running = work().finally(() => {
      const wasFull = this.#isFull(companyId, false);
      this.#running.delete(running);
      const taken = this.#takenBy(companyId) - 1;
      if (taken > 0) this.#byCompany.set(companyId, taken);
      else this.#byCompany.delete(companyId);
      if (wasFull) this.#onFreed(companyId);
    });
    this.#running.add(running);
    return true;
  }

  /** When none is in flight any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The companies that have their share: of all slots, and of those for retries. */
  full(): { readonly companies: readonly string[]; readonly retriesOf: readonly string[] } {
    const fullFor = (isRetry: boolean) =>
      [...this.#byCompany.keys()].filter((id) => this.#isFull(id, isRetry));
    return { companies: fullFor(false), retriesOf: fullFor(true) };
  }

  #takenBy(companyId: string): number {
    return this.#byCompany.get(companyId) ?? 0;
  }

  /** A company may have as many as are free then: half of all if it is the only one. For retries, it is a tenth of that. */
  #isFull(companyId: string, isRetry: boolean): boolean {
    const share = Math.max(1, isRetry ? Math.floor(this.free / 10) : this.free);
    return this.free <= 0 || this.#takenBy(companyId) >= share;
  }
}
