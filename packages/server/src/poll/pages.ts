import type { AccountReader } from '../http/identify.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import { type RenderedLeads, renderLeads } from '../leads/render.ts';
import { andThen } from '../lib/event-loop.ts';
import type { Page, PageQuery, PollStore } from './store.ts';

export interface PollQuery {
  readonly since?: number;
  /** If it was sent in our own notation, which `Link` uses. */
  readonly sinceText?: string;
  readonly limit: number;
}

/** A page of the store with its leads rendered. */
export interface RenderedPage extends Omit<Page, 'leads'> {
  readonly leads: RenderedLeads;
  /**
   * Whether the leads were read before the account of the reader was. Otherwise they may have been committed after a change of the
   * account.
   */
  readonly isOlderThanAccount: boolean;
}

export interface PollResult {
  readonly page: RenderedPage;
  /** The `since` of the next poll. */
  readonly nextSince: number;
}

export type ReadPage = (query: PageQuery) => RenderedPage | Promise<RenderedPage>;

/** Where new leads begin in a company that has never had one. */
const BEFORE_THE_FIRST = Date.UTC(1970, 0);

/** Reads the next page of the leads that a user may see. */
export function poll(
  readPage: ReadPage,
  user: PollingUser,
  query: PollQuery,
): PollResult | Promise<PollResult> {
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  return andThen(readPage({ scope, ...query }), (page) => toPollResult(page, query));
}

function toPollResult(page: RenderedPage, { since }: PollQuery): PollResult {
  const newest = since === undefined ? page.leads.first : page.leads.last;
  // Never the clock: after it is set back, new leads get stamps before the time that it showed.
  return { page, nextSince: newest ?? since ?? page.lastStamp ?? BEFORE_THE_FIRST };
}

/** The reads of one poll, in their order. */
export interface PollReader extends AccountReader {
  /** The signal is aborted when the client disconnects. It is created only if the store is queried. */
  readPage(query: PageQuery, disconnectSignal: () => AbortSignal): RenderedPage | Promise<RenderedPage>;
  /** The same without waiting for a writer that holds the lock. Only for a query with `since`. */
  readCommitted(query: PageQuery, disconnectSignal: () => AbortSignal): RenderedPage | Promise<RenderedPage>;
}

export async function readRendered(
  store: PollStore,
  query: PageQuery,
  signal: AbortSignal,
): Promise<RenderedPage> {
  const { leads, ...page } = await store.readPage(query, signal);
  return { ...page, leads: renderLeads(leads), isOlderThanAccount: false };
}
