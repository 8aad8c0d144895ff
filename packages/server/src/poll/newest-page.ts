/** Pages without `since`: no gap after a burst, and no old lead that would start an automation. */
import { renderLeads } from '../leads/render.ts';
import type { RenderedPage } from './cache/poll-cache.ts';
import type { ChangeTrackingStore, NewestPageRule } from './store.ts';

/** Of the leads that follow, most may be imported history. */
const MAX_READS = 20;

/**
 * The newest page, unless the rule of the connection gives another one: the page that directly follows what it had, newest first as
 * always, until it has caught up; and nothing that is older than when it began.
 */
export async function readNewestPage(
  { readLeads, findHistory }: ChangeTrackingStore,
  newest: RenderedPage,
  limit: number,
  { after, floor, historyUntil }: NewestPageRule,
): Promise<RenderedPage> {
  const { scope, leads } = newest;
  const { first, last, count, createdAt } = leads;
  if (first === undefined || last === undefined) return newest;
  const hasGap = after !== null && count >= limit && after < last;
  const from = hasGap ? after : last;
  const history = await findHistory(scope.companyId, { from, through: first, addedAfter: historyUntil });
  const isOld = new Set(history);
  const isKept = (lead: { readonly createdAt: number }) =>
    (floor === null || lead.createdAt >= floor) && !isOld.has(lead.createdAt);
  if (!hasGap && createdAt.every((time) => isKept({ createdAt: time }))) return newest;
  if (!hasGap) {
    const page = await readLeads({ scope, limit });
    return { ...newest, leads: renderLeads(page.filter(isKept)), isOlderThanAccount: false };
  }
  const following: Awaited<ReturnType<typeof readLeads>>[number][] = [];
  let since = after;
  for (let reads = 0; reads < MAX_READS && following.length < limit; reads += 1) {
    const page = await readLeads({ scope, since, limit });
    following.push(...page.filter(isKept));
    since = page.at(-1)?.createdAt ?? since;
    if (page.length < limit) break;
  }
  const page = following.slice(0, limit).reverse();
  return { ...newest, leads: renderLeads(page), isOlderThanAccount: false };
}
