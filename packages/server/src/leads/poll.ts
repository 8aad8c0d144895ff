import type { User } from '../store/records.ts';
import type { Page, PollQuestions } from '../store/store.ts';
import { scopeOf } from './access.ts';

export interface PollQuery {
  readonly since?: number;
  readonly limit: number;
}

export interface Poll {
  readonly page: Page;
  /** Where the next poll goes on: after the newest lead of this page. */
  readonly nextSince: number;
}

/** The one use case: the next page of the leads that this user may see. */
export async function poll(
  store: Pick<PollQuestions, 'readPage'>,
  user: User,
  query: PollQuery,
): Promise<Poll> {
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  const page = await store.readPage({ scope, ...query });
  const newest = query.since === undefined ? page.leads[0] : page.leads.at(-1);
  // Without leads and without `since`, the moment of the answer is where news begins (D3).
  return { page, nextSince: newest?.createdAt ?? query.since ?? page.readAt };
}
