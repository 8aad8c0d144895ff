/** The places of events in flight, shared by companies: receivers of one that hang must not delay the events of others. */
export class Places {
  readonly #max: number;
  readonly #byCompany = new Map<string, number>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get free(): number {
    return this.#max - this.#taken;
  }

  /** False: the company has its share. */
  take(companyId: string, isRetry: boolean): boolean {
    const taken = this.#byCompany.get(companyId) ?? 0;
    if (this.#isFull(taken, isRetry)) return false;
    this.#byCompany.set(companyId, taken + 1);
    this.#taken += 1;
    return true;
  }

  /** Returns whether the company had its share until now. */
  release(companyId: string): boolean {
    const taken = this.#byCompany.get(companyId) ?? 0;
    const wasFull = this.#isFull(taken, false);
    if (taken > 1) this.#byCompany.set(companyId, taken - 1);
    else this.#byCompany.delete(companyId);
    this.#taken -= 1;
    return wasFull;
  }

  /** The companies that have their share: of all places, and of those for retries. */
  full(): { readonly companies: readonly string[]; readonly retriesOf: readonly string[] } {
    const fullFor = (isRetry: boolean) =>
      [...this.#byCompany].filter(([, taken]) => this.#isFull(taken, isRetry)).map(([id]) => id);
    return { companies: fullFor(false), retriesOf: fullFor(true) };
  }

  /** A company may have as many places as are free then: half of all if it is the only one. For retries, it is a tenth of that. */
  #isFull(taken: number, isRetry: boolean): boolean {
    return taken >= Math.max(1, isRetry ? Math.floor(this.free / 10) : this.free);
  }
}
