import { LRUCache } from 'lru-cache';
import { type PageLead, type RenderedLeads, renderLeads } from '../../leads/render.ts';
import type { ChangeTrackingStore, PageQuery } from '../store.ts';
import type { AccountCache } from './account-cache.ts';
import { Feed } from './feed.ts';

/** The feeds of one company, by `feedKey`. */
type CompanyFeeds = Map<string, Feed>;

export interface FeedPage {
  readonly leads: RenderedLeads;
  /** The last epoch that had begun when the leads were read. */
  readonly epoch: number;
}

/** Earlier than every lead. A store takes no infinite time. */
const BEFORE_ALL_LEADS = Date.parse('0000-01-01T00:00:00.000Z') - 1;
/** A stale feed with more new leads than this is read from the beginning. */
const MAX_APPENDED_LEADS = 100;

/**
 * An LRU cache of the feeds of all companies, bounded by bytes. `PollCache` says what to invalidate. A read that was under way
 * at that moment is neither cached nor joined by later polls, because it may have missed the change.
 */
export class FeedCache {
  readonly #store: ChangeTrackingStore;
  readonly #companies: LRUCache<string, CompanyFeeds>;
  readonly #revalidations: Pick<AccountCache, 'epoch'>;
  readonly #reads = new SingleFlight<FeedPage>();
  readonly #appends = new SingleFlight<boolean>();

  constructor(store: ChangeTrackingStore, maxBytes: number, revalidations: Pick<AccountCache, 'epoch'>) {
    this.#store = store;
    this.#revalidations = revalidations;
    this.#companies = new LRUCache<string, CompanyFeeds>({
      maxSize: maxBytes,
      // A larger company is not cached: it must not evict all others.
      maxEntrySize: Math.floor(maxBytes / 4),
      sizeCalculation: sumBytes,
    });
  }

  /** Leads were added after the newest ones: the next poll appends them to what is cached. */
  markStale(companyId: string): void {
    this.#invalidateFlights(companyId);
    for (const feed of this.#companies.peek(companyId)?.values() ?? []) feed.markStale();
  }

  invalidateCompany(companyId: string): void {
    this.#invalidateFlights(companyId);
    this.#companies.delete(companyId);
  }

  invalidateAll(): void {
    this.#reads.invalidateAll();
    this.#appends.invalidateAll();
    this.#companies.clear();
  }

  /** The page as of the last revalidation, or newer. */
  readPage(query: PageQuery): FeedPage | Promise<FeedPage> {
    const feed = this.#companies.get(query.scope.companyId)?.get(feedKey(query));
    if (!feed) return this.#readFromStore(query);
    return feed.isStale ? this.#readStale(query, feed) : this.#readFromFeed(query, feed);
  }

  async #readStale(query: PageQuery, feed: Feed): Promise<FeedPage> {
    const isUsable = await this.#appendNewLeads(query, feed);
    return isUsable ? this.#readFromFeed(query, feed) : this.#readFromStore(query);
  }

  #readFromFeed(query: PageQuery, feed: Feed): FeedPage | Promise<FeedPage> {
    return this.#pageFromFeed(feed, query) ?? this.#readFromStore(query);
  }

  #pageFromFeed(feed: Feed, query: PageQuery): FeedPage | undefined {
    const { bytes, epoch } = feed;
    const leads = feed.getPage(query);
    // The feed caches pages that it puts together, and has grown by that.
    if (feed.bytes !== bytes) this.#updateSize(query.scope.companyId);
    return leads && { leads, epoch };
  }

  /** Reads the leads that were added to a stale feed. False if there are too many; the company is then invalidated. */
  #appendNewLeads(query: PageQuery, feed: Feed): Promise<boolean> {
    const { companyId } = query.scope;
    return this.#appends.run(companyId, feedKey(query), async (isInvalidated) => {
      const since = Math.max(feed.newest, BEFORE_ALL_LEADS);
      const leads = await this.#store.readLeads({ ...query, since, limit: MAX_APPENDED_LEADS });
      if (leads.length === MAX_APPENDED_LEADS) {
        this.invalidateCompany(companyId);
        return false;
      }
      feed.append(leads);
      feed.epoch = this.#revalidations.epoch;
      if (!isInvalidated()) feed.isStale = false;
      this.#updateSize(companyId);
      return true;
    });
  }

  #readFromStore(query: PageQuery): Promise<FeedPage> {
    const { scope, since, limit } = query;
    return this.#reads.run(scope.companyId, `${feedKey(query)} ${since} ${limit}`, async (isInvalidated) => {
      const leads = await this.#store.readLeads(query);
      const epoch = this.#revalidations.epoch;
      const feed = toFeed(query, leads);
      feed.epoch = epoch;
      const page = feed.getPage(query) ?? feed.cachePage(query, renderLeads(leads));
      if (!isInvalidated()) this.#cacheRead(query, feed, page);
      return { leads: page, epoch };
    });
  }

  /** Keeps whichever feed reaches further back: the cached one, to which the page is added, or the one that was read. */
  #cacheRead(query: PageQuery, read: Feed, page: RenderedLeads): void {
    const { companyId } = query.scope;
    const feeds = this.#companies.get(companyId) ?? new Map<string, Feed>();
    const key = feedKey(query);
    const cached = feeds.get(key);
    if (cached === undefined || cached.cachedAfter > read.cachedAfter) feeds.set(key, read);
    else if (page.count > 0) {
      cached.cachePage(query, page);
      cached.epoch = read.epoch;
    }
    this.#setCompany(companyId, feeds);
  }

  #setCompany(companyId: string, feeds: CompanyFeeds): void {
    // The LRU cache computes the size of an entry only when its value is another object, hence the delete.
    this.#companies.delete(companyId);
    this.#companies.set(companyId, feeds);
  }

  /** A company that was evicted or invalidated meanwhile is not put back. */
  #updateSize(companyId: string): void {
    const feeds = this.#companies.peek(companyId);
    if (feeds) this.#setCompany(companyId, feeds);
  }

  #invalidateFlights(companyId: string): void {
    this.#reads.invalidate(companyId);
    this.#appends.invalidate(companyId);
  }
}

/** Concurrent reads of the same thing share one query (single-flight). */
class SingleFlight<T> {
  /** The reads under way, by company and key. A company's map is removed when the company is invalidated. */
  readonly #byCompany = new Map<string, Map<string, Promise<T>>>();

  /**
   * Joins the read of this key, or begins one. After `isInvalidated` its result answers those who wait for it, and must not be
   * cached, because the data changed after the read began.
   */
  run(companyId: string, key: string, read: (isInvalidated: () => boolean) => Promise<T>): Promise<T> {
    const flights = this.#byCompany.get(companyId) ?? new Map<string, Promise<T>>();
    const pending = flights.get(key);
    if (pending) return pending;
    this.#byCompany.set(companyId, flights);
    const isInvalidated = () => this.#byCompany.get(companyId) !== flights;
    const flight = read(isInvalidated).finally(() => {
      flights.delete(key);
      if (flights.size === 0 && !isInvalidated()) this.#byCompany.delete(companyId);
    });
    flights.set(key, flight);
    return flight;
  }

  /** Later calls of `run` begin a new read instead of joining one that may have missed the change. */
  invalidate(companyId: string): void {
    this.#byCompany.delete(companyId);
  }

  invalidateAll(): void {
    this.#byCompany.clear();
  }
}

/** What a page shows of the end of the feed. A full page with `since` shows nothing of it: more leads may follow. */
function toFeed({ since, limit }: PageQuery, leads: readonly PageLead[]): Feed {
  const isFull = leads.length === limit;
  if (since !== undefined) return isFull ? new Feed(Number.POSITIVE_INFINITY) : createFeed(since, leads);
  const oldest = leads.at(-1)?.createdAt;
  const cachedAfter = isFull && oldest !== undefined ? oldest - 1 : Number.NEGATIVE_INFINITY;
  return createFeed(cachedAfter, leads.toReversed());
}

function createFeed(cachedAfter: number, leads: readonly PageLead[]): Feed {
  const feed = new Feed(cachedAfter);
  feed.append(leads);
  return feed;
}

const sumBytes = (feeds: CompanyFeeds): number => {
  let bytes = 0;
  for (const feed of feeds.values()) bytes += feed.bytes;
  return bytes;
};

/** Queries with equal keys are pages of the same feed: everything of a query that selects leads, except `since` and `limit`. */
function feedKey({ scope }: PageQuery): string {
  switch (scope.level) {
    case 'COMPANY':
      return 'COMPANY';
    case 'BRANCH':
      return `BRANCH ${scope.branchId}`;
    case 'DEPARTMENT':
      return `DEPARTMENT ${scope.departmentId}`;
  }
}
