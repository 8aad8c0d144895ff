import { type RenderedLeads, renderLeads } from '../leads/render.ts';
import type { LeadRecord, Scope } from '../store/records.ts';
import type { ChangeTrackingStore, PageQuery } from '../store/store.ts';
import { Feed } from './feed.ts';
import { Recent } from './lru.ts';
import { SingleFlight } from './single-flight.ts';

/** The feeds of one company, by place. */
type CompanyFeeds = Map<string, Feed>;

/** No lead is as old; infinity is no time for a store. */
const BEFORE_ALL = Date.parse('0000-01-01T00:00:00.000Z') - 1;
/** A company that has had more new leads than this since it was last asked about is read anew. */
const MOST_TO_CATCH_UP = 100;

/** What is remembered of the leads of all companies. Which of it still holds is said by whoever watches the store. */
export class Feeds {
  readonly #store: ChangeTrackingStore;
  readonly #companies: Recent<CompanyFeeds>;
  readonly #mostBytesOfOne: number;
  readonly #readings = new SingleFlight<RenderedLeads>();
  readonly #catchingUp = new SingleFlight<boolean>();

  constructor(store: ChangeTrackingStore, mostBytes: number) {
    this.#store = store;
    this.#companies = new Recent(mostBytes, weigh);
    this.#mostBytesOfOne = mostBytes / 4;
  }

  grow(companyId: string): void {
    this.#outdate(companyId);
    for (const feed of this.#companies.peek(companyId)?.values() ?? []) feed.grow();
  }

  forget(companyId: string): void {
    this.#outdate(companyId);
    this.#companies.delete(companyId);
  }

  forgetAll(): void {
    this.#readings.outdateAll();
    this.#catchingUp.outdateAll();
    this.#companies.clear();
  }

  /** As of the last look, or younger. */
  page(query: PageQuery): RenderedLeads | Promise<RenderedLeads> {
    const feed = this.#companies.get(query.scope.companyId)?.get(placeOf(query.scope));
    if (feed?.isStale) return this.#pageAfterCatchingUp(feed, query);
    return (feed && this.#pageOf(feed, query)) ?? this.#read(query);
  }

  async #pageAfterCatchingUp(feed: Feed, query: PageQuery): Promise<RenderedLeads> {
    const page = (await this.#catchUp(query.scope, feed)) ? this.#pageOf(feed, query) : undefined;
    return page ?? this.#read(query);
  }

  #pageOf(feed: Feed, query: PageQuery): RenderedLeads | undefined {
    const { weight } = feed;
    const page = feed.page(query);
    if (feed.weight !== weight) this.#weighAnew(query.scope.companyId);
    return page;
  }

  /** Reads what was added to the feed; false when that is too much. */
  #catchUp(scope: Scope, feed: Feed): Promise<boolean> {
    return this.#catchingUp.share(scope.companyId, placeOf(scope), async (reading) => {
      const since = Math.max(feed.newest, BEFORE_ALL);
      const leads = await this.#store.readLeads({ scope, since, limit: MOST_TO_CATCH_UP });
      const isWhole = leads.length < MOST_TO_CATCH_UP;
      if (!isWhole) this.forget(scope.companyId);
      else {
        feed.append(leads);
        if (!reading.isOutdated) feed.isStale = false;
        this.#weighAnew(scope.companyId);
      }
      return isWhole;
    });
  }

  #read(query: PageQuery): Promise<RenderedLeads> {
    const { scope, since, limit } = query;
    return this.#readings.share(scope.companyId, `${placeOf(scope)} ${since} ${limit}`, async (reading) => {
      const leads = await this.#store.readLeads(query);
      const end = endOfFeed(query, leads);
      const page = end.page(query) ?? end.keep(query, renderLeads(leads));
      if (!reading.isOutdated) this.#learn(query, end, page);
      return page;
    });
  }

  #learn(query: PageQuery, end: Feed, page: RenderedLeads): void {
    const { companyId } = query.scope;
    const feeds = this.#companies.get(companyId) ?? new Map<string, Feed>();
    const place = placeOf(query.scope);
    const known = feeds.get(place);
    const reachesFurther = known !== undefined && known.floor <= end.floor;
    if (reachesFurther && page.count > 0) known.keep(query, page);
    this.#keep(companyId, feeds.set(place, reachesFurther ? known : end));
  }

  /** A company that takes too much starts anew with the next poll, and takes nothing away from the others. */
  #keep(companyId: string, feeds: CompanyFeeds): void {
    if (weigh(feeds) <= this.#mostBytesOfOne) this.#companies.set(companyId, feeds);
    else this.#companies.delete(companyId);
  }

  /** What is not there any more is not put back. */
  #weighAnew(companyId: string): void {
    const feeds = this.#companies.peek(companyId);
    if (feeds) this.#keep(companyId, feeds);
  }

  #outdate(companyId: string): void {
    this.#readings.outdate(companyId);
    this.#catchingUp.outdate(companyId);
  }
}

/** The end of a feed, as far as a page of it shows: a full page with `since` shows nothing of it. */
function endOfFeed({ since, limit }: PageQuery, leads: readonly LeadRecord[]): Feed {
  const isFull = leads.length === limit;
  if (since !== undefined) return feedAfter(isFull ? Number.POSITIVE_INFINITY : since, isFull ? [] : leads);
  const oldest = leads.at(-1)?.createdAt;
  const floor = isFull && oldest !== undefined ? oldest - 1 : Number.NEGATIVE_INFINITY;
  return feedAfter(floor, leads.toReversed());
}

function feedAfter(floor: number, leads: readonly LeadRecord[]): Feed {
  const feed = new Feed(floor);
  feed.append(leads);
  return feed;
}

const weigh = (feeds: CompanyFeeds): number => {
  let weight = 0;
  for (const feed of feeds.values()) weight += feed.weight;
  return weight;
};

function placeOf(scope: Scope): string {
  switch (scope.level) {
    case 'COMPANY':
      return 'COMPANY';
    case 'BRANCH':
      return `BRANCH ${scope.branchId}`;
    case 'DEPARTMENT':
      return `DEPARTMENT ${scope.departmentId}`;
  }
}
