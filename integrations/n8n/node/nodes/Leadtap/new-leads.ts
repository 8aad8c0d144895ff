import type { IPollFunctions } from 'n8n-workflow';
import type { ReceivedLead } from './page.ts';
import { PAGE_SIZE, readPage } from './page.ts';
import { loadPosition } from './start.ts';

/**
 * Bounds the duration of a poll and the number of items that n8n gets at once. Polled every minute, these are 600 of
 * the 1,000 requests that a user has in an hour. What is left comes with the next poll.
 */
const MAX_LEADS_PER_POLL = 1000;

/** The leads since the last poll, oldest first. What is remembered moves on only with leads that were read. */
export async function newLeads(context: IPollFunctions): Promise<ReceivedLead[]> {
  const position = await loadPosition(context);
  const leads = await readWhileFull(context, position.since);
  position.since = leads.at(-1)?.createdAt ?? position.since;
  return leads;
}

/**
 * A failure behind the first page is left to the next poll, which meets it again if it lasts: the leads that came are
 * not held back for it, nor read a second time.
 */
async function readWhileFull(context: IPollFunctions, since: string): Promise<ReceivedLead[]> {
  let { leads: page } = await readPage(context, { limit: PAGE_SIZE, since });
  const leads = [...page];
  while (page.length === PAGE_SIZE && leads.length < MAX_LEADS_PER_POLL) {
    const last = leads.at(-1)?.createdAt ?? since;
    page = await readPage(context, { limit: PAGE_SIZE, since: last }).then(
      (next) => next.leads,
      () => [],
    );
    leads.push(...page);
  }
  return leads;
}
