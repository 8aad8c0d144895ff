import { joined } from '../joined-bytes.ts';
import type { PollQuery } from '../leads/poll.ts';
import { asRendered, NO_LEADS, type RenderedLeads, renderLead } from '../leads/render.ts';
import type { LeadRecord } from '../store/records.ts';

/** More than two pages are cut back to one. */
const MOST_LEADS = 200;
const LEADS_KEPT = 100;
/** Callers who follow a feed ask for the same page; those who read its history do not come back to one. */
const MOST_PAGES = 4;
/** About what the objects take beside the bytes. */
const OWN_WEIGHT = 1000;

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/**
 * The newest leads of a company, a branch or a department, oldest first, rendered side by side: whatever page of them is
 * asked for is one run of bytes.
 */
export class Feed {
  /** Every lead created after this is here: -Infinity where all are, Infinity where only pages are. */
  #floor: number;
  /** Each lead with a comma behind it. */
  #bytes: Buffer = Buffer.alloc(0);
  #ends: number[] = [];
  #stamps: number[] = [];
  /** Whole pages, as they were asked for. */
  readonly #pages = new Map<string, RenderedLeads>();
  #pagesWeight = 0;
  /** There may be leads after the newest one here. */
  isBehind = false;

  /** Knows nothing but that no lead was created after the floor. */
  constructor(floor: number) {
    this.#floor = floor;
  }

  get floor(): number {
    return this.#floor;
  }

  /** Up to here it is complete. */
  get newest(): number {
    return this.#stamps.at(-1) ?? this.#floor;
  }

  get weight(): number {
    return OWN_WEIGHT + this.#bytes.length + this.#pagesWeight;
  }

  /** Leads were added after the newest one. Pages in the midst of the feed stay what they are. */
  grow(): void {
    this.isBehind = this.#floor !== Number.POSITIVE_INFINITY;
  }

  /** Adds what follows, oldest first. */
  append(leads: readonly LeadRecord[]): void {
    const added = leads.filter(({ createdAt }) => createdAt > this.newest);
    // Also when nothing is added: a page may have been read before the newest lead here came.
    this.#forgetPages();
    if (added.length === 0) return;
    const rendered = added.map((lead) => Buffer.from(`${renderLead(lead)},`));
    let end = this.#bytes.length;
    for (const [index, { length }] of rendered.entries()) {
      end += length;
      this.#ends.push(end);
      this.#stamps.push(added[index]?.createdAt ?? 0);
    }
    this.#bytes = joined([this.#bytes, ...rendered]);
    if (this.#stamps.length > MOST_LEADS) this.#dropOldest(this.#stamps.length - LEADS_KEPT);
  }

  #dropOldest(count: number): void {
    const dropped = this.#startOf(count);
    this.#floor = this.#stamps[count - 1] ?? this.#floor;
    this.#bytes = joined([this.#bytes.subarray(dropped)]);
    this.#stamps = this.#stamps.slice(count);
    this.#ends = this.#ends.slice(count).map((end) => end - dropped);
  }

  /** Undefined when it lies further back than what is here. */
  page(query: PollQuery): RenderedLeads | undefined {
    const { since } = query;
    if (since !== undefined && since >= this.newest) return NO_LEADS;
    const name = nameOf(query);
    const known = this.#pages.get(name);
    if (known) return known;
    const page = since === undefined ? this.#newest(query.limit) : this.#following(since, query.limit);
    if (page && page.count > 0) this.keep(query, page);
    return page;
  }

  /** Remembers a page that was read for itself. */
  keep(query: PollQuery, page: RenderedLeads): void {
    this.#forgetPage(nameOf(query));
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= MOST_PAGES && oldest !== undefined) this.#forgetPage(oldest);
    this.#pages.set(nameOf(query), page);
    this.#pagesWeight += page.body.length;
  }

  #following(since: number, limit: number): RenderedLeads | undefined {
    if (since < this.#floor) return undefined;
    const from = this.#firstAfter(since);
    const to = Math.min(from + limit, this.#stamps.length);
    // Without the comma behind the last one.
    const run = this.#bytes.subarray(this.#startOf(from), this.#startOf(to) - 1);
    return asRendered(joined([OPEN, run, CLOSE]), this.#about(from, to - 1));
  }

  #newest(limit: number): RenderedLeads | undefined {
    const count = Math.min(limit, this.#stamps.length);
    if (count < limit && this.#floor !== Number.NEGATIVE_INFINITY) return undefined;
    if (count === 0) return NO_LEADS;
    const to = this.#stamps.length;
    const parts = Array.from({ length: count }, (_, n) =>
      this.#bytes.subarray(this.#startOf(to - n - 1), this.#startOf(to - n)),
    );
    const body = joined([OPEN, ...parts]);
    // Where the comma behind the last one stands.
    body.set(CLOSE, body.length - 1);
    return asRendered(body, this.#about(to - 1, to - count));
  }

  #about(first: number, last: number): Omit<RenderedLeads, 'body' | 'etag'> {
    return {
      count: Math.abs(last - first) + 1,
      first: this.#stamps[first],
      last: this.#stamps[last],
    };
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
  }

  #firstAfter(since: number): number {
    let low = 0;
    let high = this.#stamps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#stamps[middle] ?? 0) > since) high = middle;
      else low = middle + 1;
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

const nameOf = ({ since, limit }: PollQuery): string => `${since} ${limit}`;
