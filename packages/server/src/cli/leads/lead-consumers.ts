/** Who may see a lead, and whether each of them has it. */
import { type LeadState, leadStateOf } from '@leadtap/contract';
import { toIso } from '../../clock.ts';
import { consumerPages, maySee } from '../../leads/consumers.ts';
import { formatDuration } from '../../status/formats.ts';
import type { Consumer } from '../../store/consumers.ts';
import type { StoredLead } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { describeConsumer } from '../consumers.ts';

export interface LeadConsumer {
  readonly consumer: Consumer;
  readonly state: LeadState;
}

/** The consumers whose access level includes the lead, sorted by user and token. */
export async function findLeadConsumers(
  store: Store,
  stored: StoredLead,
  now: number,
  signal: AbortSignal,
): Promise<LeadConsumer[]> {
  const found: LeadConsumer[] = [];
  for await (const page of consumerPages(store, { companyId: stored.companyId, maxPendingLeads: 1, now })) {
    signal.throwIfAborted();
    for (const consumer of page)
      if (maySee(consumer, stored)) found.push({ consumer, state: leadStateOf(consumer, stored.lead) });
  }
  return found;
}

/** An entry of `consumers` in the JSON of a lead. Outside programs rely on exactly these fields. */
export const toJsonConsumer = ({ consumer, state }: LeadConsumer) => ({
  tokenId: consumer.tokenId,
  name: consumer.name,
  userId: consumer.userId,
  state,
});

const MAX_SHOWN = 50;

/** One line for each consumer. */
export function describeLeadConsumers(
  consumers: readonly LeadConsumer[],
  { lead: { createdAt, automation_created_at: addedAt } }: StoredLead,
  now: number,
): string[] {
  const lines = consumers.slice(0, MAX_SHOWN).map(({ consumer, state }) => {
    const lastPoll = `last poll ${formatDuration((now - consumer.lastPollAt) / 1000)} ago, status ${consumer.lastStatus}`;
    return `${describeConsumer(consumer)}: ${describeState(state, createdAt)}; ${lastPoll}`;
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
