import { joined } from '../joined-bytes.ts';
import type { PollQuery } from '../leads/poll.ts';
import { asRendered, NO_LEADS, type RenderedLeads, renderLead } from '../leads/render.ts';
import type { LeadRecord } from '../store/records.ts';

/** A whole page of the newest. */
const MOST_LEADS = 100;
/** Callers who follow a feed ask for the same page; those who read its history do not come back to one. */
const MOST_PAGES = 4;
/** About what the objects take beside the bytes. */
const OWN_WEIGHT = 1000;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/**
 * The newest leads of a company, a branch or a department, newest first, rendered side by side as one JSON array: the page
 * that is asked for most often is these bytes as they are.
 */
export class Feed {
  /** Every lead created after this is here: -Infinity where all are, Infinity where only pages are. */
  #floor: number;
  #body = joined([OPEN, CLOSE]);
  /** Where each lead ends in the body. */
  #ends: readonly number[] = [];
  #stamps: readonly number[] = [];
  /** All of it. */
  #whole: RenderedLeads = NO_LEADS;
  /** Other pages, as they were asked for. */
  readonly #pages = new Map<string, RenderedLeads>();
  #pagesWeight = 0;
  /** There may be leads after the newest one here. */
  isStale = false;

  /** Knows nothing but that no lead was created after the floor. */
  constructor(floor: number) {
    this.#floor = floor;
  }

  get floor(): number {
    return this.#floor;
  }

  /** Up to here it is complete. */
  get newest(): number {
    return this.#stamps[0] ?? this.#floor;
  }

  get weight(): number {
    return OWN_WEIGHT + this.#body.length + this.#pagesWeight;
  }

  /** Leads were added after the newest one. Pages in the midst of the feed stay what they are. */
  grow(): void {
    this.isStale = this.#floor !== Number.POSITIVE_INFINITY;
  }

  /** Adds what follows, oldest first. */
  append(leads: readonly LeadRecord[]): void {
    // Also when nothing is added: a page may have been read before the newest lead here came.
    this.#forgetPages();
    const added = leads.filter(({ createdAt }) => createdAt > this.newest).reverse();
    if (added.length > 0) this.#putInFront(added);
  }

  /** Those that are too many are forgotten, the oldest first. */
  #putInFront(added: readonly LeadRecord[]): void {
    const stamps = [...added.map(({ createdAt }) => createdAt), ...this.#stamps];
    const fresh = added.slice(0, MOST_LEADS).map((lead) => Buffer.from(renderLead(lead)));
    const kept = Math.min(this.#stamps.length, MOST_LEADS - fresh.length);
    const old = Array.from({ length: kept }, (_, n) => this.#lead(n));
    const rendered = [...fresh, ...old];
    this.#floor = stamps[rendered.length] ?? this.#floor;
    this.#stamps = stamps.slice(0, rendered.length);
    this.#body = toArray(rendered);
    let end = 0;
    this.#ends = rendered.map(({ length }) => {
      end += 1 + length;
      return end;
    });
    this.#whole = asRendered(this.#body, this.#about(0, rendered.length - 1));
  }

  /** Undefined when it lies further back than what is here. */
  page(query: PollQuery): RenderedLeads | undefined {
    const { since, limit } = query;
    if (since === undefined) return this.#newest(limit);
    if (since >= this.newest) return NO_LEADS;
    const known = this.#pages.get(nameOf(query));
    if (known || since < this.#floor) return known;
    return this.keep(query, this.#following(since, limit));
  }

  /** Remembers a page. */
  keep(query: PollQuery, page: RenderedLeads): RenderedLeads {
    this.#forgetPage(nameOf(query));
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= MOST_PAGES && oldest !== undefined) this.#forgetPage(oldest);
    this.#pages.set(nameOf(query), page);
    this.#pagesWeight += page.body.length;
    return page;
  }

  #newest(limit: number): RenderedLeads | undefined {
    const { length } = this.#stamps;
    if (limit === length || (limit > length && this.#floor === Number.NEGATIVE_INFINITY)) return this.#whole;
    const known = this.#pages.get(nameOf({ limit }));
    if (known || limit > length) return known;
    const body = joined([this.#body.subarray(0, this.#ends[limit - 1]), CLOSE]);
    return this.keep({ limit }, asRendered(body, this.#about(0, limit - 1)));
  }

  #following(since: number, limit: number): RenderedLeads {
    const first = this.#countAfter(since) - 1;
    const last = Math.max(0, first - limit + 1);
    const leads = Array.from({ length: first - last + 1 }, (_, n) => this.#lead(first - n));
    return asRendered(toArray(leads), this.#about(first, last));
  }

  #about(first: number, last: number): Omit<RenderedLeads, 'body' | 'etag'> {
    return { count: Math.abs(last - first) + 1, first: this.#stamps[first], last: this.#stamps[last] };
  }

  /** The bytes of one, behind the bracket or comma before it. */
  #lead(index: number): Buffer {
    return this.#body.subarray((this.#ends[index - 1] ?? 0) + 1, this.#ends[index]);
  }

  #countAfter(since: number): number {
    let low = 0;
    let high = this.#stamps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#stamps[middle] ?? 0) > since) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forgetPage(name: string): void {
    this.#pagesWeight -= this.#pages.get(name)?.body.length ?? 0;
    this.#pages.delete(name);
  }

  #forgetPages(): void {
    this.#pages.clear();
    this.#pagesWeight = 0;
  }
}

const toArray = (leads: readonly Buffer[]): Buffer =>
  joined([OPEN, ...leads.flatMap((lead, n) => (n === 0 ? [lead] : [COMMA, lead])), CLOSE]);

const nameOf = ({ since, limit }: PollQuery): string => `${since} ${limit}`;
