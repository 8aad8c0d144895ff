import type { LeadScope } from '../../leads/record.ts';
import { type RenderedLeads, renderLeads } from '../../leads/render.ts';
import { andThen } from '../../lib/event-loop.ts';
import type { Change, Page, PageQuery, PollStore } from '../store.ts';
import type { AccountCache } from './account-cache.ts';
import { FeedCache, type FeedPage } from './feed-cache.ts';
import type { Revalidated } from './revalidator.ts';

/** A page of the store with its leads rendered. */
export interface RenderedPage extends Omit<Page, 'leads'> {
  readonly scope: LeadScope;
  readonly leads: RenderedLeads;
  /**
   * Whether the leads were read before the account of the reader was. Otherwise they may have been committed after a change of the
   * account.
   */
  readonly isOlderThanAccount: boolean;
}

/** Of the rendered leads. */
const MAX_FEED_BYTES = 16 * 1024 * 1024;

/**
 * Caches rendered leads. No poll is answered with stale data: what has changed is invalidated by the revalidation that each poll
 * waits for (`AccountCache`). Entries that were not used for longest are evicted, so the cache is bounded.
 */
export class PollCache {
  readonly #store: PollStore;
  readonly #feeds: FeedCache;

  constructor(store: PollStore, accounts: AccountCache, maxBytes = MAX_FEED_BYTES) {
    this.#store = store;
    this.#feeds = new FeedCache(store.changeTracking, maxBytes, accounts);
    accounts.onChanges((changes) => this.#invalidate(changes));
  }

  /**
   * The page for a caller whose account was checked by this revalidation. The signal is aborted when the client disconnects. It is
   * created only if the store is queried.
   */
  readPage(
    query: PageQuery,
    revalidation: Revalidated,
    disconnectSignal: () => AbortSignal,
  ): RenderedPage | Promise<RenderedPage> {
    // A transaction is writing leads of this company. The store waits for it, the cache cannot.
    if (isBusy(query, revalidation)) return this.#readUnderLock(query, disconnectSignal());
    return andThen(this.#feeds.readPage(query), (page) =>
      // `Link` of this page continues from the company's last stamp, which only the store can read together with the page.
      page.leads.count === 0 && query.since === undefined
        ? this.#readUnderLock(query, disconnectSignal())
        : toRendered(query, page, revalidation),
    );
  }

  /**
   * The same without waiting for a writer that holds the lock. Only for a query with `since`. While a transaction is writing leads of
   * the company, the time of the read is that of the newest lead: leads that are not yet committed get later stamps.
   */
  async readCommitted(query: PageQuery, revalidation: Revalidated): Promise<RenderedPage> {
    const page = toRendered(query, await this.#feeds.readPage(query), revalidation);
    if (!isBusy(query, revalidation)) return page;
    return { ...page, readAt: Math.min(page.readAt, page.leads.last ?? query.since ?? 0) };
  }

  async #readUnderLock(query: PageQuery, signal: AbortSignal): Promise<RenderedPage> {
    const { leads, ...page } = await this.#store.readPage(query, signal);
    return { scope: query.scope, leads: renderLeads(leads), isOlderThanAccount: false, ...page };
  }

  #invalidate(changes: readonly Change[] | undefined): void {
    if (changes === undefined) this.#feeds.invalidateAll();
    else
      for (const { kind, id } of changes) {
        if (kind === 'leads-appended') this.#feeds.markStale(id);
        else if (kind === 'company') this.#feeds.invalidateCompany(id);
      }
  }
}

const isBusy = ({ scope }: PageQuery, { busy }: Revalidated): boolean => busy.has(scope.companyId);

const toRendered = (
  { scope }: PageQuery,
  { leads, epoch }: FeedPage,
  { readAt, epoch: current }: Revalidated,
): RenderedPage => ({
  scope,
  leads,
  readAt,
  locked: true,
  isOlderThanAccount: epoch < current,
});
