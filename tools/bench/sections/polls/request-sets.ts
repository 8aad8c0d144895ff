import type { RequestSet } from '../../load/messages.ts';
import { type NewestLeads, sinceBefore, sinceQuery } from '../../load/newest-leads.ts';
import { pollRequest } from '../../load/requests.ts';
import { LEAD_EVERY_MS } from '../../made-up/leads.ts';
import { shuffled } from '../../made-up/shuffle.ts';
import type { Account } from './feeds.ts';
import type { Kind } from './kinds.ts';

/** One in so many polls of the mixed kind finds a full page. */
export const ONE_FULL_IN = 20;
/** History ends so many leads before the newest 100. */
const RECENT_LEADS = 200;

/** The query of user number `n` of all. */
export function queryOf(kind: Kind, feed: NewestLeads, n: number): string {
  switch (kind) {
    case 'newest':
      return '?limit=100';
    case 'since':
      return sinceBefore(feed);
    case 'apart':
      // Between the oldest of the newest 100 leads and the one before it.
      return sinceQuery(feed.oldestAt - 1 - anywhere(n, LEAD_EVERY_MS - 1));
    case 'mixed':
      return n % ONE_FULL_IN === 0 ? sinceBefore(feed) : feed.empty;
    case 'history':
      return sinceQuery(feed.oldestAt - RECENT_LEADS * LEAD_EVERY_MS - anywhere(n, HISTORY_MS));
    case 'empty':
    case 'many':
    case 'import':
      return feed.empty;
  }
}

/** How far back history goes: 600 leads of a company. */
const HISTORY_MS = 600 * LEAD_EVERY_MS;

/** A whole number below the limit, evenly spread, each time another one. */
const anywhere = (n: number, limit: number): number => Math.floor(((n * 0.618033988749895) % 1) * limit);

export const requestSet = (name: string, kind: Kind, accounts: readonly Account[]): RequestSet => ({
  name: `${name} ${kind}`,
  requests: shuffled(accounts).map(({ token, feed }, n) => pollRequest(token, queryOf(kind, feed, n))),
  followLinks: kind === 'import',
});

/** The hand-written server checks no token, so the query names the company. */
export const handWrittenSet = (kind: Kind, accounts: readonly Account[]): RequestSet => ({
  name: `hand-written ${kind}`,
  requests: shuffled(accounts).map(({ token, companyId, feed }, n) =>
    pollRequest(token, `${queryOf(kind, feed, n)}&company=${companyId}`),
  ),
});
