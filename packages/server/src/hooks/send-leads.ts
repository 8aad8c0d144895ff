/**
 * Sends the leads of one claim to a hook that sends leads: one request after the other, each begun when the last one was accepted, while
 * there are leads and the time of the claim lasts. A lead is read just before its request, so that nothing is sent that the user may not
 * see at that moment.
 */
import type { Delivery } from './deliver.ts';
import { type EventOptions, leadMessage, postMessage } from './event.ts';
import type { PacedQueue } from './paced-queue.ts';
import type { Outcome, SentLeads } from './rules.ts';
import type { DueHook, HookStore } from './store.ts';

export interface LeadSenderOptions extends EventOptions {
  readonly store: Pick<HookStore, 'readLead'>;
  readonly delivery: Delivery;
  readonly queue: PacedQueue;
  /** Called when the turn of the claim has come: its time is counted from then. */
  readonly begin: () => Promise<BegunClaim>;
  readonly onOutcome: (outcome: Outcome) => void;
  /** Called with each accepted lead. The next request waits for it. */
  readonly onProgress: (sent: SentLeads) => Promise<void>;
}

export interface BegunClaim {
  readonly due: DueHook;
  /** Whether a request may begin: it has to end before the claim does. */
  readonly mayBegin: () => boolean;
}

type Accepted = SentLeads['accepted'];

export async function sendLeads(
  { hook, companyId }: DueHook,
  options: LeadSenderOptions,
): Promise<SentLeads> {
  const { queue, store, delivery, onOutcome, onProgress } = options;
  let claim: BegunClaim | undefined;
  let accepted: Accepted;
  for (;;) {
    const begun = await queue.run(companyId, async () => {
      claim ??= await options.begin();
      const { due, mayBegin } = claim;
      if (!mayBegin()) return 'time-over';
      const after = accepted?.createdAt ?? hook.announcedThrough;
      const lead = await store.readLead(due.hook, after);
      if (!lead) return 'all-sent';
      if (!mayBegin()) return 'time-over';
      const response = postMessage(delivery, due, leadMessage(hook, lead), options);
      return { createdAt: lead.createdAt, response };
    });
    if (typeof begun === 'string') return toSent(accepted, { kind: begun });
    const outcome = await begun.response.catch((): Outcome => ({ kind: 'unreachable' }));
    if (outcome === 'aborted') return toSent(accepted, { kind: 'sending' });
    onOutcome(outcome);
    if (outcome.kind !== 'accepted') return toSent(accepted, outcome);
    accepted = { createdAt: begun.createdAt, status: outcome.status };
    await onProgress(toSent(accepted, { kind: 'sending' }));
  }
}

const toSent = (accepted: Accepted, end: SentLeads['end']): SentLeads => ({
  ...(accepted && { accepted }),
  end,
});
