import type { HookEvent, Lead } from '@leadtap/contract';
import { type Bundle, errors, type ZObject } from 'zapier-platform-core';
import { readPage } from './read-page.ts';
import { ReadPosition } from './read-position.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 50;
/** Zapier gives a run 30 seconds, and the last page may take ten. */
const MAX_READING_MS = 15_000;
const MAX_RUN_MS = 30_000;

const tooManyLeads = () =>
  new errors.Error(
    'Leadtap has more new leads than one run can read. The next event, or Test trigger, continues.',
    'too-many-leads',
  );

/**
 * The leads that an event announces, oldest first, and those of events before that were not returned. If not all of them can be read, it
 * returns those that were, and the next event continues from there; if there is none, it fails. If the position cannot be stored, the
 * reminder of the service continues: it announces what the token has not polled.
 */
export async function announcedLeads(
  z: ZObject,
  bundle: Bundle,
  { hookId, since, through }: HookEvent['data'],
  now: () => number,
): Promise<Lead[]> {
  const position = new ReadPosition(z, hookId);
  const startedAt = now();
  const start = await position.find(since, now);
  if (start >= through) return [];
  await position.save(start, through, startedAt + MAX_RUN_MS);

  const leads: Lead[] = [];
  let unreadFrom = start;
  let failure: unknown = tooManyLeads();
  try {
    for (let pages = 0; unreadFrom < through && pages < MAX_PAGES; pages += 1) {
      if (now() - startedAt > MAX_READING_MS) break;
      const page = await readPage(z, bundle, { limit: PAGE_SIZE, since: unreadFrom });
      leads.push(...page.leads.filter(({ createdAt }) => createdAt <= through));
      const last = page.leads.at(-1)?.createdAt ?? through;
      unreadFrom = page.leads.length < PAGE_SIZE || last > through ? through : last;
    }
  } catch (error) {
    failure = error;
  }
  await position.save(unreadFrom, through);
  if (unreadFrom < through && leads.length === 0) throw failure;
  return leads;
}
