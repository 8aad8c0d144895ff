/** Sends what is due for a claimed hook: an event, or its leads, while the time of the claim lasts. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PendingLead } from '../connections/store.ts';
import { FairQueue } from '../lib/fair.ts';
import type { Delivery } from './deliver.ts';
import { type EventOptions, eventMessage, type HookMessage, leadMessage, postMessage } from './event.ts';
import type { Outage } from './outage.ts';
import { PacedQueue } from './paced-queue.ts';
import type { ResultWriter } from './result-writer.ts';
import { type Outcome, type SentLeads, sinceOf } from './rules.ts';
import type { DueHook, HookStore } from './store.ts';

export interface ClaimSenderOptions extends EventOptions {
  readonly store: Pick<HookStore, 'now' | 'settle' | 'readLead' | 'takePending'>;
  readonly delivery: Delivery;
  readonly onOutcome?: ((kind: Outcome['kind']) => void) | undefined;
  /** For tests: the processor time of the process. */
  readonly processorMs?: () => number;
}

/** Longer than the timeout of an event. */
export const CLAIM_MS = 15_000;
/** Requests begin so long after the claim at most: they end before it does, after 10 seconds. */
const MAX_BEGIN_MS = 4000;
/** A claim whose turn comes later is made again, so that its time is counted from then. */
const MAX_LATE_MS = 1000;

interface BegunClaim {
  readonly due: DueHook;
  /** Whether a request may begin: it has to end before the claim does. */
  readonly mayBegin: () => boolean;
}

export class ClaimSender {
  /** Hooks that this instance may not send to, as long as it runs. Another one may. */
  readonly notAllowed = new Set<string>();
  readonly #options: ClaimSenderOptions;
  readonly #results: ResultWriter;
  readonly #outage: Outage;
  readonly #leadQueue: PacedQueue;
  /** An event is begun in a turn of the event loop. */
  readonly #turns = new FairQueue({ maxRunning: 1 });
  #isStopped = false;

  constructor(options: ClaimSenderOptions, results: ResultWriter, outage: Outage) {
    this.#options = options;
    this.#results = results;
    this.#outage = outage;
    this.#leadQueue = new PacedQueue(options.processorMs);
  }

  /** No more requests begin. */
  stop(): void {
    this.#isStopped = true;
  }

  /** `claimBegunAt` is the start of the claim by a monotonic clock. */
  async send(claimed: DueHook, claimBegunAt: number): Promise<void> {
    if (claimed.hook.send === 'event') await this.#sendEvent(claimed, claimBegunAt);
    else await this.#sendLeads(claimed, claimBegunAt);
  }

  async #sendEvent(claimed: DueHook, claimBegunAt: number): Promise<void> {
    const { companyId } = claimed;
    await this.#turns.run(companyId, companyId, () => nextTurn());
    const { due, mayBegin } = await this.#begin(claimed, claimBegunAt);
    if (!mayBegin()) return this.#results.add(due, { kind: 'postponed' });
    const window = { since: sinceOf(due), through: due.through };
    const message = eventMessage(due.hook, window, due.claimedAt, this.#options.publicUrl);
    const { outcome, durationMs } = await this.#post(due, message);
    if (outcome !== 'aborted') this.#results.add(due, outcome, durationMs);
  }

  /**
   * One request after the other, each begun when the last one was accepted. A lead is read just before its request, so that nothing is
   * sent that the user may not see at that moment. Those that are sent beside the new ones come first, and do not move the position.
   */
  async #sendLeads(claimed: DueHook, claimBegunAt: number): Promise<void> {
    const results = this.#results;
    let begun: BegunClaim | undefined;
    let pending: PendingLead[] = [];
    let accepted: SentLeads['accepted'];
    for (;;) {
      const { claim, next } = await this.#leadQueue.run(claimed.companyId, async () => {
        const claim = begun ?? (await this.#begin(claimed, claimBegunAt));
        if (!begun && claimed.hasPending && claim.mayBegin())
          pending = [...(await this.#options.store.takePending(claim.due.hook))];
        return { claim, next: await this.#postLead(claim, accepted?.createdAt, pending.shift()) };
      });
      begun = claim;
      const { due } = claim;
      if (next === 'not-visible') continue;
      if (typeof next === 'string') return results.add(due, { accepted, end: { kind: next } });
      const { outcome, durationMs } = await next.response;
      if (outcome === 'aborted') return results.add(due, { accepted, end: { kind: 'sending' } });
      if (outcome.kind !== 'accepted') return results.add(due, { accepted, end: outcome }, durationMs);
      const { createdAt, beside } = next;
      const { status, reason } = outcome;
      const position = accepted?.createdAt ?? due.hook.announcedThrough;
      accepted = { createdAt: beside ? position : createdAt, status };
      const sent = { createdAt, pending: beside, reason };
      results.add(due, { accepted, sent, end: { kind: 'sending' } }, durationMs);
      // So that no more leads are sent again after a crash while the database is slow.
      await results.waitForSlowBatch();
    }
  }

  /** Begins the request of this lead beside the new ones, or of the first lead after this time, or after the position of the hook. */
  async #postLead({ due, mayBegin }: BegunClaim, after = due.hook.announcedThrough, beside?: PendingLead) {
    if (!mayBegin()) return 'time-over' as const;
    const lead = await this.#options.store.readLead(due.hook, beside ? beside.createdAt - 1 : after);
    if (beside && lead?.createdAt !== beside.createdAt) return 'not-visible' as const;
    if (!lead) return 'all-sent' as const;
    if (!mayBegin()) return 'time-over' as const;
    const message = leadMessage(due.hook, lead, beside?.message);
    return { createdAt: lead.createdAt, beside, response: this.#post(due, message) };
  }

  async #post(
    due: DueHook,
    message: HookMessage,
  ): Promise<{ readonly outcome: Outcome | 'aborted'; readonly durationMs: number }> {
    const { delivery, onOutcome } = this.#options;
    const begunAt = performance.now();
    const sent = postMessage(delivery, due, message, this.#options);
    const outcome = await sent.catch((): Outcome => ({ kind: 'unreachable' }));
    const durationMs = performance.now() - begunAt;
    if (outcome === 'aborted') return { outcome, durationMs };
    onOutcome?.(outcome.kind);
    if (outcome.kind === 'not-allowed') this.notAllowed.add(due.hook.id);
    return { outcome, durationMs };
  }

  /** Called when the turn of the claim has come: its time is counted from then. */
  async #begin(claimed: DueHook, claimBegunAt: number): Promise<BegunClaim> {
    const isLate = performance.now() - claimBegunAt > MAX_LATE_MS;
    const begunAt = isLate ? performance.now() : claimBegunAt;
    const due = isLate ? await this.#claimAgain(claimed) : claimed;
    const mayBegin = () =>
      due !== undefined &&
      !this.#isStopped &&
      !this.#outage.isOngoing &&
      performance.now() - begunAt < MAX_BEGIN_MS;
    return { due: due ?? claimed, mayBegin };
  }

  /** Undefined: the claim has ended meanwhile. */
  async #claimAgain(due: DueHook): Promise<DueHook | undefined> {
    const { store } = this.#options;
    const now = await store.now();
    const hook = { ...due.hook, notBefore: now + CLAIM_MS, checkAt: now + CLAIM_MS };
    const stored = await store.settle([{ claimed: due.hook, progress: { ...hook, lastEventAt: now } }]);
    return stored > 0 ? { ...due, hook, claimedAt: now } : undefined;
  }
}
