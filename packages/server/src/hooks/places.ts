/** The events in flight. Their places are shared by companies: receivers of one that hang must not delay the events of others. */
export class Places {
  readonly #max: number;
  readonly #byCompany = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  constructor(max: number) {
    this.#max = max;
  }

  get free(): number {
    return this.#max - this.#running.size;
  }

  /**
   * Runs this in a place of the company. Returns false, and runs nothing, if the company has its share. Calls `onFreed` at the end if
   * it had its share until then: others of the company may have waited for the place.
   */
  run(companyId: string, isRetry: boolean, work: () => Promise<void>, onFreed: () => void): boolean {
    const taken = this.#byCompany.get(companyId) ?? 0;
    if (this.#isFull(taken, isRetry)) return false;
    this.#byCompany.set(companyId, taken + 1);
    const running = work().finally(() => {
      const wasFull = this.#isFull(this.#byCompany.get(companyId) ?? 0, false);
      this.#running.delete(running);
      this.#release(companyId);
      if (wasFull) onFreed();
    });
    this.#running.add(running);
    return true;
  }

  /** When none is in flight any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The companies that have their share: of all places, and of those for retries. */
  full(): { readonly companies: readonly string[]; readonly retriesOf: readonly string[] } {
    const fullFor = (isRetry: boolean) =>
      [...this.#byCompany].filter(([, taken]) => this.#isFull(taken, isRetry)).map(([id]) => id);
    return { companies: fullFor(false), retriesOf: fullFor(true) };
  }

  #release(companyId: string): void {
    const others = (this.#byCompany.get(companyId) ?? 0) - 1;
    if (others > 0) this.#byCompany.set(companyId, others);
    else this.#byCompany.delete(companyId);
  }

  /** A company may have as many places as are free then: half of all if it is the only one. For retries, it is a tenth of that. */
  #isFull(taken: number, isRetry: boolean): boolean {
    return taken >= Math.max(1, isRetry ? Math.floor(this.free / 10) : this.free);
  }
}
