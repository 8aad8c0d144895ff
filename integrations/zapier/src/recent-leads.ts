import type { Lead } from '@leadtap/contract';
import type { Bundle, ZObject } from 'zapier-platform-core';
import { type Page, readPage } from './read-page.ts';

const PAGE_SIZE = 100;
/** Zapier polls every 1 to 15 minutes, and not to the second. Twice the longest leaves room for a poll that fails. */
const LOOK_BACK_MS = 30 * 60_000;
/** Enough for 5,000 leads in half an hour. */
const MOST_FURTHER_PAGES = 50;
/** Zapier gives a poll 30 seconds, and the last page may take ten. */
const MOST_TIME_MS = 15_000;

/**
 * The newest leads, and all others of the last half hour, newest first.
 *
 * Zapier starts the Zap for whatever a poll returns and it has not seen. It keeps nothing that a poll could ask by, and
 * a page holds 100 leads: when more came since the last poll, the newest page alone would lose some. So when all of that
 * page is younger than half an hour, the rest of the half hour is read as well. Nearly always it is not, and one request
 * is enough.
 */
export async function recentLeads(
  z: ZObject,
  bundle: Bundle,
  nowMs: () => number = () => performance.now(),
): Promise<Lead[]> {
  const endsAt = nowMs() + MOST_TIME_MS;
  const newest = await readPage(z, bundle, { limit: PAGE_SIZE });
  const oldest = newest.leads.at(-1);
  if (!oldest || newest.leads.length < PAGE_SIZE) return [...newest.leads];
  const read = (since: string) => readPage(z, bundle, { limit: PAGE_SIZE, since });
  const further = await leadsBetween(newest, oldest, read, () => nowMs() < endsAt);
  return [...newest.leads, ...further.reverse()];
}

/**
 * The leads of the last half hour that are older than `oldest`, oldest first. Stops early rather than use up the time of
 * the poll or the limits of the user: what is left out comes with a later poll, while it is not older than half an hour.
 */
async function leadsBetween(
  newest: Page,
  oldest: Lead,
  read: (since: string) => Promise<Page>,
  hasTime: () => boolean,
): Promise<Lead[]> {
  const leads: Lead[] = [];
  let since = new Date(newest.readAt - LOOK_BACK_MS).toISOString();
  let page = newest;
  for (let pages = 0; pages < MOST_FURTHER_PAGES; pages += 1) {
    if (since >= oldest.createdAt || !page.hasQuotaToSpare || !hasTime()) break;
    page = await read(since);
    leads.push(...page.leads.filter(({ createdAt }) => createdAt < oldest.createdAt));
    since = page.leads.at(-1)?.createdAt ?? oldest.createdAt;
  }
  return leads;
}
