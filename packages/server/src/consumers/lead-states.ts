/** Who may see a lead, and whether each of them has it. */
import { type LeadState, leadStateOf } from '@leadtap/contract';
import { maySee } from '../leads/access.ts';
import type { StoredLead } from '../leads/record.ts';
import { type ConsumerSources, type ListedConsumer, listedConsumerPages, pendingOf } from './states.ts';

export interface LeadConsumer {
  readonly listed: ListedConsumer;
  readonly state: LeadState;
}

/** The consumers whose access level includes the lead. Those that have never polled wait for the leads since their subscription. */
export async function findLeadConsumers(
  sources: ConsumerSources,
  stored: StoredLead,
  now: number,
  signal: AbortSignal,
): Promise<LeadConsumer[]> {
  const found: LeadConsumer[] = [];
  const query = { companyId: stored.companyId, maxPendingLeads: 1, now };
  for await (const page of listedConsumerPages(sources, query)) {
    signal.throwIfAborted();
    for (const listed of page) {
      const { consumer, hook } = listed;
      const pending = pendingOf(listed);
      if (!pending || !maySee(pending.user, stored)) continue;
      if (consumer) found.push({ listed, state: leadStateOf(consumer, stored.lead) });
      else if (hook && stored.lead.createdAt > hook.createdAt) found.push({ listed, state: 'waiting' });
    }
  }
  return found;
}
