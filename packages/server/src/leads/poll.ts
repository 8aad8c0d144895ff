import type { User } from '../store/records.ts';
import type { PageQuery } from '../store/store.ts';
import { scopeOf } from './access.ts';
import type { RenderedLeads } from './render.ts';

export interface PollQuery {
  readonly since?: number;
  readonly limit: number;
}

/** A page as it leaves. What its other parts mean is said in the port of the store. */
export interface RenderedPage {
  readonly leads: RenderedLeads;
  readonly readAt: number;
  readonly locked: boolean;
  readonly lastStamp?: number | undefined;
}

export interface Poll {
  readonly page: RenderedPage;
  /** Where the next poll goes on: after the newest lead of this page. */
  readonly nextSince: number;
}

type ReadPage = (query: PageQuery) => RenderedPage | Promise<RenderedPage>;

/** The one use case: the next page of the leads that this user may see. */
export function poll(readPage: ReadPage, user: User, query: PollQuery): Poll | Promise<Poll> {
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  const page = readPage({ scope, ...query });
  return page instanceof Promise ? page.then((read) => toPoll(read, query)) : toPoll(page, query);
}

/** Where new leads begin in a company that has never had one. */
const BEFORE_THE_FIRST = Date.UTC(1970, 0);

function toPoll(page: RenderedPage, { since }: PollQuery): Poll {
  const newest = since === undefined ? page.leads.first : page.leads.last;
  // Never the clock: if it is set back, new leads are stamped before the time that it showed.
  return { page, nextSince: newest ?? since ?? page.lastStamp ?? BEFORE_THE_FIRST };
}
