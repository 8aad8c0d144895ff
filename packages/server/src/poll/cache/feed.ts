import {
  asRendered,
  concatUnpooled,
  NO_LEADS,
  type PageLead,
  type RenderedLeads,
  renderLead,
} from '../../leads/render.ts';
import type { PageQuery } from '../store.ts';

/** Which leads of a feed. */
export type FeedQuery = Omit<PageQuery, 'scope'>;

/** The largest page of newest leads. */
const MAX_LEADS = 100;
/** Clients that follow a feed ask for the same page; those that read its history ask for each page once. */
const MAX_PAGES = 4;
/** About what the objects use beside the rendered bytes. */
const OVERHEAD_BYTES = 1000;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/**
 * The cached end of one feed: the newest leads of a company, a branch or a department, newest first. They are rendered as one
 * JSON array, which is at the same time the body of the page that is asked for most often.
 */
export class Feed {
  #cachedAfter: number;
  #body = concatUnpooled([OPEN, CLOSE]);
  /** Where each lead ends in the body. */
  #ends: readonly number[] = [];
  #createdAt: readonly number[] = [];
  /** The page with all cached leads. */
  #allLeads: RenderedLeads = NO_LEADS;
  /** Other pages, as they were asked for; the one that was added first is evicted first. */
  readonly #pages = new Map<string, RenderedLeads>();
  #pageBytes = 0;
  /** There may be leads after the newest one that is cached. */
  isStale = false;
  /** The last epoch that had begun when leads of this feed were last read. */
  epoch = 0;

  /** An empty feed: no lead was created after `cachedAfter`. */
  constructor(cachedAfter: number) {
    this.#cachedAfter = cachedAfter;
  }

  /** All leads created after this are cached: -Infinity if all leads are, Infinity if only pages are. */
  get cachedAfter(): number {
    return this.#cachedAfter;
  }

  /** The `createdAt` up to which the feed is complete. */
  get newest(): number {
    return this.#createdAt[0] ?? this.#cachedAfter;
  }

  get bytes(): number {
    return OVERHEAD_BYTES + this.#body.length + this.#pageBytes;
  }

  /** Leads were added after the newest one. Full pages before it are still right. */
  markStale(): void {
    this.isStale = this.#cachedAfter !== Number.POSITIVE_INFINITY;
  }

  /** Adds the leads that follow the newest one, oldest first. */
  append(leads: readonly PageLead[]): void {
    // Also when nothing is added: a cached page may have been read before the newest lead of this feed was added.
    this.#pages.clear();
    this.#pageBytes = 0;
    const added = leads.filter(({ createdAt }) => createdAt > this.newest).reverse();
    if (added.length > 0) this.#prepend(added);
  }

  /** The oldest leads are evicted when there are more than fit into a page. */
  #prepend(added: readonly PageLead[]): void {
    const createdAt = [...added.map((lead) => lead.createdAt), ...this.#createdAt];
    const newLeads = added.slice(0, MAX_LEADS).map((lead) => Buffer.from(renderLead(lead)));
    const kept = Math.min(this.#createdAt.length, MAX_LEADS - newLeads.length);
    const oldLeads = Array.from({ length: kept }, (_, index) => this.#leadBytes(index));
    const rendered = [...newLeads, ...oldLeads];
    this.#cachedAfter = createdAt[rendered.length] ?? this.#cachedAfter;
    this.#createdAt = createdAt.slice(0, rendered.length);
    this.#body = toJsonArray(rendered);
    let end = 0;
    this.#ends = rendered.map(({ length }) => {
      end += 1 + length;
      return end;
    });
    this.#allLeads = asRendered(this.#body, this.#describe(0, rendered.length - 1));
  }

  /** Undefined if it includes leads that are not cached. */
  getPage(query: FeedQuery): RenderedLeads | undefined {
    const { since, limit } = query;
    if (since === undefined) return this.#newestPage(limit);
    if (since >= this.newest) return NO_LEADS;
    const cached = this.#pages.get(pageKey(query));
    if (cached || since < this.#cachedAfter) return cached;
    return this.cachePage(query, this.#pageAfter(since, limit));
  }

  cachePage(query: FeedQuery, page: RenderedLeads): RenderedLeads {
    this.#evictPage(pageKey(query));
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= MAX_PAGES && oldest !== undefined) this.#evictPage(oldest);
    this.#pages.set(pageKey(query), page);
    this.#pageBytes += page.body.length;
    return page;
  }

  #evictPage(key: string): void {
    this.#pageBytes -= this.#pages.get(key)?.body.length ?? 0;
    this.#pages.delete(key);
  }

  #newestPage(limit: number): RenderedLeads | undefined {
    const { length } = this.#createdAt;
    const hasAllLeads = this.#cachedAfter === Number.NEGATIVE_INFINITY;
    if (limit === length || (limit > length && hasAllLeads)) return this.#allLeads;
    const cached = this.#pages.get(pageKey({ limit }));
    if (cached || limit > length) return cached;
    const body = concatUnpooled([this.#body.subarray(0, this.#ends[limit - 1]), CLOSE]);
    return this.cachePage({ limit }, asRendered(body, this.#describe(0, limit - 1)));
  }

  /** Oldest first, so from the end of the body to its beginning. */
  #pageAfter(since: number, limit: number): RenderedLeads {
    const first = this.#createdAt.findLastIndex((createdAt) => createdAt > since);
    const last = Math.max(0, first - limit + 1);
    const leads = Array.from({ length: first - last + 1 }, (_, index) => this.#leadBytes(first - index));
    return asRendered(toJsonArray(leads), this.#describe(first, last));
  }

  #describe(first: number, last: number): Omit<RenderedLeads, 'body' | 'etag'> {
    const createdAt = this.#createdAt.slice(Math.min(first, last), Math.max(first, last) + 1);
    return {
      count: createdAt.length,
      first: this.#createdAt[first],
      last: this.#createdAt[last],
      createdAt,
    };
  }

  /** Without the bracket or comma before it. */
  #leadBytes(index: number): Buffer {
    return this.#body.subarray((this.#ends[index - 1] ?? 0) + 1, this.#ends[index]);
  }
}

const toJsonArray = (leads: readonly Buffer[]): Buffer =>
  concatUnpooled([OPEN, ...leads.flatMap((lead, index) => (index === 0 ? [lead] : [COMMA, lead])), CLOSE]);

const pageKey = ({ since, limit }: FeedQuery): string => `${since} ${limit}`;
