import { isPromise } from '../../event-loop.ts';
import type { PollingUser } from '../../leads/access.ts';
import { type PollReader, type RenderedPage, readRendered } from '../pages.ts';
import type { PageQuery, PollStore } from '../store.ts';
import type { FeedCache, FeedPage } from './feed-cache.ts';
import type { NumberedRevalidation } from './revalidation-batcher.ts';

interface Sources {
  readonly store: PollStore;
  readonly feeds: FeedCache;
  readonly user: PollingUser | undefined;
  readonly isRevoked: boolean;
  readonly revalidation: NumberedRevalidation;
}

/** The reads of one poll, after the revalidation that it has waited for. */
export class CachedReader implements PollReader {
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  isTokenRevoked(): boolean {
    return this.#sources.isRevoked;
  }

  findUser(): PollingUser | undefined {
    return this.#sources.user;
  }

  readPage(query: PageQuery, disconnectSignal: () => AbortSignal): RenderedPage | Promise<RenderedPage> {
    const { store, feeds } = this.#sources;
    const readUnderLock = () => readRendered(store, query, disconnectSignal());
    // A transaction is writing leads of this company. The store waits for it, the cache cannot.
    if (this.#isBusy(query)) return readUnderLock();
    // `Link` of this page continues from the company's last stamp, which only the store can read together with the page.
    const toPage = (page: FeedPage) =>
      page.leads.count === 0 && query.since === undefined ? readUnderLock() : this.#toRendered(page);
    const page = feeds.readPage(query);
    return isPromise(page) ? page.then(toPage) : toPage(page);
  }

  /**
   * While a transaction is writing leads of the company, the time of the read is that of the newest lead: leads that are not yet
   * committed get later stamps.
   */
  async readCommitted(query: PageQuery): Promise<RenderedPage> {
    const page = this.#toRendered(await this.#sources.feeds.readPage(query));
    if (!this.#isBusy(query)) return page;
    return { ...page, readAt: Math.min(page.readAt, page.leads.last ?? query.since ?? 0) };
  }

  #isBusy({ scope }: PageQuery): boolean {
    return this.#sources.revalidation.busy.has(scope.companyId);
  }

  #toRendered({ leads, revalidationNumber }: FeedPage): RenderedPage {
    const { revalidation } = this.#sources;
    const isOlderThanAccount = revalidationNumber < revalidation.revalidationNumber;
    return { leads, readAt: revalidation.readAt, locked: true, isOlderThanAccount };
  }
}
