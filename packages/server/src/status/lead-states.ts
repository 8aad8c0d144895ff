/** Who may see a lead, and whether each of them has it. */
import { type LeadState, leadStateOf } from '@leadtap/contract';
import { scopesAt } from '../consumers/scopes.ts';
import { isSameConsumer } from '../consumers/store.ts';
import { isInScope, maySee } from '../leads/access.ts';
import type { StoredLead } from '../leads/record.ts';
import {
  type ConsumerSources,
  type ListedConsumer,
  leadHookOf,
  listedConsumerPages,
  missedQueryOf,
  pendingOf,
  positionOfLeadHook,
  receivedKeyOf,
} from './consumer-states.ts';
import { readRemoved } from './consumers.ts';
import { hasReceived, type RemovedViewer } from './coverage-pieces.ts';

export interface LeadConsumer {
  readonly listed: ListedConsumer;
  readonly state: LeadState;
  /** The consumer could not see it when it got later leads, and was not sent it since: perhaps before, if it could see it then. */
  readonly isMissed: boolean;
}

/** It is not listed any more, and had received the lead. */
export interface RemovedReceiver extends Pick<RemovedViewer, 'userId' | 'tokenId'> {
  /** Null: its token was revoked. */
  readonly removedAt: number | null;
}

/** For 30 days. */
export async function findRemovedReceivers(
  sources: Pick<ConsumerSources, 'consumers'>,
  stored: StoredLead,
  now: number,
): Promise<RemovedReceiver[]> {
  const { companyId, lead } = stored;
  const { createdAt } = lead;
  const isHistory = createdAt !== lead.automation_created_at;
  const receivers = isHistory ? await sources.consumers.findReceivers(companyId, createdAt) : [];
  return (await readRemoved(sources, { now }))
    .filter((viewer) =>
      isHistory
        ? receivers.some((other) => isSameConsumer(other, viewer))
        : hasReceived(viewer, createdAt, stored),
    )
    .map(({ userId, tokenId, endedAt = null }) => ({ userId, tokenId, removedAt: endedAt }));
}

/**
 * The consumers whose access level includes the lead, or included it when it was sent to them. Those that have never polled have the leads
 * since their subscription to get.
 */
export async function findLeadConsumers(
  sources: ConsumerSources,
  stored: StoredLead,
  now: number,
  signal: AbortSignal,
): Promise<LeadConsumer[]> {
  const found: LeadConsumer[] = [];
  const { createdAt } = stored.lead;
  const query = { companyId: stored.companyId, maxPendingLeads: 1, now };
  const isHistory = createdAt !== stored.lead.automation_created_at;
  const receivers = isHistory ? await sources.consumers.findReceivers(stored.companyId, createdAt) : [];
  for await (const page of listedConsumerPages(sources, query)) {
    signal.throwIfAborted();
    const ofPage: (LeadConsumer & { readonly maySeeIt: boolean })[] = [];
    for (const listed of page) {
      const { consumer, hook, userId } = listed;
      const pending =
        pendingOf(listed) ??
        (await sources.consumers.findPending({ userId, since: createdAt, maxPendingLeads: 1 }));
      if (!pending) continue;
      const { scopes = null } = consumer ?? leadHookOf(listed) ?? {};
      const maySeeIt = maySee(pending.user, stored);
      if (!maySeeIt && !scopesAt(scopes, createdAt).some((scope) => isInScope(scope, stored))) continue;
      const position = consumer ?? positionOfLeadHook(leadHookOf(listed));
      const startedAt = consumer ? null : (leadHookOf(listed)?.announcedSince ?? hook?.createdAt ?? null);
      if (startedAt !== null && createdAt <= startedAt) continue;
      const key = receivedKeyOf(listed);
      const receivedHistory = receivers.some((other) => isSameConsumer(other, key)) ? [createdAt] : [];
      ofPage.push({
        ...{ listed, maySeeIt },
        state: position ? leadStateOf({ ...position, receivedHistory }, stored.lead) : 'waiting',
        isMissed: false,
      });
    }
    const queries = ofPage.map(({ listed }) => missedQueryOf(listed, createdAt - 1, createdAt));
    const missed = await sources.consumers.findMissed(queries, 1);
    for (const [index, { listed, maySeeIt, state }] of ofPage.entries()) {
      const isMissed = state !== 'waiting' && (missed[index]?.includes(createdAt) ?? false);
      const hasIt = !isMissed && state !== 'waiting' && state !== 'skipped';
      if (maySeeIt || hasIt) found.push({ listed, state: isMissed ? 'skipped' : state, isMissed });
    }
  }
  return found;
}
