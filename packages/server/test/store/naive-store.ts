import type { Clock, LeadInput, Page, PageQuery, Store } from 'leadtap';
import { DelegatingStore } from './delegating-store.ts';

/** What a slow writer waits for after it has stamped its leads. */
export type BeforeCommit = () => Promise<void>;

/**
 * What most services do: a lead is stamped with the clock before it is inserted, a poll is a plain read of what is
 * committed, and an answer carries the time of the clock.
 */
export class NaiveStore extends DelegatingStore {
  readonly #clock: Clock;
  readonly #beforeCommit: BeforeCommit;

  constructor(inner: Store, clock: Clock, beforeCommit: BeforeCommit = async () => undefined) {
    super(inner);
    this.#clock = clock;
    this.#beforeCommit = beforeCommit;
  }

  override async writeLeads(leads: readonly LeadInput[]) {
    const createdAt = this.#clock();
    await this.#beforeCommit();
    const stamped = leads.map((lead) => ({ ...lead, createdAt }));
    return this.inner.writeLeads(stamped, { historical: true });
  }

  override async readPage(query: PageQuery): Promise<Page> {
    return { ...(await this.inner.readPage(query)), readAt: this.#clock() };
  }
}
