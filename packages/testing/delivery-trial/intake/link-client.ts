import { setTimeout as wait } from 'node:timers/promises';
import type { Lead } from '@leadtap/contract';
import { HttpCaller, type Installation } from '../pollers/http-caller.ts';

const PAUSE_MS = 20;
const LIMIT = 100;

/** Follows `Link` from the beginning of the feed, and keeps what it gets. */
export class LinkClient {
  readonly received: Pick<Lead, 'id' | 'createdAt' | 'firstName'>[] = [];
  readonly #caller: HttpCaller;
  #query = `since=1970-01-01T00%3A00%3A00.000Z&limit=${LIMIT}`;

  constructor(installation: Installation, userIds: readonly string[]) {
    this.#caller = new HttpCaller(installation, userIds);
  }

  /** One request, and a pause if it fails or no more leads are there. */
  async poll(): Promise<void> {
    const isMoreThere = await this.#readPage().catch(() => false);
    if (!isMoreThere) await wait(PAUSE_MS);
  }

  /** When nothing is sent any more, and the service is up. */
  async pollToEnd(): Promise<void> {
    while (await this.#readPage());
  }

  /** Whether the page was full. */
  async #readPage(): Promise<boolean> {
    const response = await this.#caller.request('GET', this.#query, {});
    if (response.status !== 200) throw new Error(`a poll was answered with ${response.status}`);
    const leads = (await response.json()) as Lead[];
    const next = /<[^>]*\?([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    if (next === undefined) throw new Error('a page has no Link');
    for (const { id, createdAt, firstName } of leads) this.received.push({ id, createdAt, firstName });
    this.#query = next;
    return leads.length === LIMIT;
  }
}
