/** Who may see a lead, and whether each of them has it. */
import { type LeadState, leadStateOf } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { Config } from '../config.ts';
import type { StoredLead } from '../leads/record.ts';
import { formatDuration } from '../status/formats.ts';
import type { Store } from '../store/store.ts';
import { describeConsumer, sourcesOf } from './command.ts';
import { type ListedConsumer, listedConsumerPages, maySee, pendingOf } from './states.ts';

export interface LeadConsumer {
  readonly listed: ListedConsumer;
  readonly state: LeadState;
}

/** The consumers whose access level includes the lead. Those that have never polled wait for the leads since their subscription. */
export async function findLeadConsumers(
  store: Store,
  config: Config,
  stored: StoredLead,
  now: number,
  signal: AbortSignal,
): Promise<LeadConsumer[]> {
  const found: LeadConsumer[] = [];
  const query = { companyId: stored.companyId, maxPendingLeads: 1, now };
  for await (const page of listedConsumerPages(sourcesOf(store, config), query)) {
    signal.throwIfAborted();
    for (const listed of page) {
      const { consumer, hook } = listed;
      const pending = pendingOf(listed);
      if (!pending || !maySee(pending, stored)) continue;
      if (consumer) found.push({ listed, state: leadStateOf(consumer, stored.lead) });
      else if (hook && stored.lead.createdAt > hook.createdAt) found.push({ listed, state: 'waiting' });
    }
  }
  return found;
}

/** An entry of `consumers` in the JSON of a lead. Outside programs rely on exactly these fields. */
export const toJsonConsumer = ({ listed: { tokenId, name, userId }, state }: LeadConsumer) => ({
  tokenId,
  name,
  userId,
  state,
});

const MAX_SHOWN = 50;

/** One line for each consumer. */
export function describeLeadConsumers(
  consumers: readonly LeadConsumer[],
  { lead: { createdAt, automation_created_at: addedAt } }: StoredLead,
  now: number,
): string[] {
  const lines = consumers.slice(0, MAX_SHOWN).map(({ listed, state }) => {
    const { consumer } = listed;
    const lastPoll = consumer
      ? `last poll ${formatDuration((now - consumer.lastPollAt) / 1000)} ago, status ${consumer.lastStatus}`
      : 'it has a webhook subscription and has never polled';
    return `${describeConsumer(listed)}: ${describeState(state, createdAt)}; ${lastPoll}`;
  });
  if (consumers.length > MAX_SHOWN) lines.push(`and ${consumers.length - MAX_SHOWN} more; --json has all`);
  if (consumers.length === 0) lines.push('none has polled');
  // Only imported history has another `createdAt` than the time at which it was added.
  else if (createdAt !== addedAt)
    lines.push('This lead was imported as history. Consumers that had polled before did not get it.');
  return lines;
}

function describeState(state: LeadState, createdAt: number): string {
  if (state === 'waiting') return `waiting since ${toIso(createdAt)}`;
  return state === 'skipped' ? 'skipped: it asked for what comes after it; it was never sent to it' : state;
}
