import type { Change } from '../poll/store.ts';

/** Companies whose hooks are to be examined. */
export class ChangedCompanies {
  #ids: Set<string> | 'all' = 'all';

  get areAll(): boolean {
    return this.#ids === 'all';
  }

  /** Not all of them. */
  get areSome(): boolean {
    return this.#ids !== 'all' && this.#ids.size > 0;
  }

  add(ids: Iterable<string> | 'all'): void {
    if (ids === 'all') this.#ids = 'all';
    else if (this.#ids !== 'all') for (const id of ids) this.#ids.add(id);
  }

  /** Those with new leads. Undefined: anything may have changed. */
  receive(changes: readonly Change[] | undefined): void {
    this.add(changes?.filter(({ kind }) => kind === 'leads-appended').map(({ id }) => id) ?? 'all');
  }

  take(): readonly string[] | 'all' {
    const taken = this.#ids === 'all' ? 'all' : [...this.#ids];
    this.#ids = new Set();
    return taken;
  }
}
