import type { Clock, LeadInput, LeadScope, Page, PageQuery, Store, WriteAllOutcome } from 'leadtap';
import { DelegatingStore } from './delegating-store.ts';

/** Called between stamp and commit, to simulate a slow writer. */
export type BeforeCommit = () => Promise<void>;

/**
 * Ordinary timestamp polling: a lead is stamped with the clock before it is inserted, a poll reads what is committed, and
 * an answer has the time of the clock.
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

  override async writeAllLeads(leads: readonly LeadInput[], scope: LeadScope): Promise<WriteAllOutcome> {
    const { results } = await this.writeLeads(leads);
    const written = results.filter((result) => result.kind !== 'rejected');
    return written.length === results.length
      ? { kind: 'written', results: written }
      : this.inner.writeAllLeads(leads, scope);
  }

  override async readPage(query: PageQuery): Promise<Page> {
    return { ...(await this.inner.readPage(query)), readAt: this.#clock() };
  }
}
