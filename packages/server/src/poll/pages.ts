import { type PollingUser, scopeOf } from '../leads/access.ts';
import { andThen } from '../lib/event-loop.ts';
import type { RenderedPage } from './cache/poll-cache.ts';
import type { PageQuery } from './store.ts';

export interface PollQuery {
  readonly since?: number;
  /** If it was sent in our own notation, which `Link` uses. */
  readonly sinceText?: string;
  readonly limit: number;
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
