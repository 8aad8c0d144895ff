/**
 * Sends the events of webhook subscriptions. The store says which are due: a hook is claimed, its event is sent, and what follows from
 * the response is stored (`rules.ts`). So nothing is queued here, and a process that is killed loses nothing: its claims end.
 */
import { takeTurn } from '../lib/event-loop.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import type { ChangeSource } from '../poll/store.ts';
import type { Delivery } from './deliver.ts';
import { type EventOptions, eventMessage, postMessage } from './event.ts';
import { PacedQueue } from './paced-queue.ts';
import {
  type ClaimResult,
  type Outcome,
  progressAfter,
  progressAfterLeads,
  type SentLeads,
  sinceOf,
} from './rules.ts';
import {
  afterFailure,
  afterResult,
  examine,
  INITIAL_STATE,
  NEVER,
  nextStep,
  type SenderState,
} from './schedule.ts';
import { type BegunClaim, sendLeads } from './send-leads.ts';
import {
  type DueHook,
  type Hook,
  type HookProgress,
  type HookStore,
  hostOfHook,
  type SettledHook,
} from './store.ts';

export interface HookSenderOptions extends EventOptions {
  readonly store: Pick<HookStore, 'now' | 'claim' | 'readLead' | 'settle' | 'remove' | 'prune' | 'hasHooks'>;
  readonly changes: ChangeSource;
  readonly delivery: Delivery;
  /** Whether polls are recorded. */
  readonly hasConsumers: boolean;
  readonly onOutcome?: ((kind: Outcome['kind']) => void) | undefined;
  readonly watchReserved?: WatchReserved | undefined;
  /** For tests: the processor time of the process. */
  readonly processorMs?: () => number;
  /** The part of a pino logger that is used. Lines have the host of a URL: the whole one is a secret. */
  readonly log: {
    warn(line: object, message: string): void;
    info(line: object, message: string): void;
  };
}

/** Longer than the timeout of an event. */
const CLAIM_MS = 15_000;
/** Requests begin so long after the claim at most: they end before it does, after 10 seconds. */
const MAX_BEGIN_MS = 4000;
/** A claim whose turn comes later is made again, so that its time is counted from then. */
const MAX_LATE_MS = 1000;
const MAX_CLAIMED_AT_ONCE = 200;
/** The results of so long are stored together. Leads that were accepted meanwhile are sent again after a crash. */
const BATCH_MS = 20;
/** Events in flight may finish for so long when the service stops. */
const STOP_MS = 2000;
/** Hooks of expired tokens send nothing. They are deleted much later, so that a clock that is wrong for a while deletes none. */
const EXPIRED_KEPT_MS = 90 * 86_400_000;

interface Result {
  readonly due: DueHook;
  /** Of a hook that sends leads, unless it had no slot: what was sent. */
  readonly result: ClaimResult | SentLeads;
}

export class HookSender {
  readonly #options: HookSenderOptions;
  readonly #slots: Slots;
  readonly #leadQueue: PacedQueue;
  /** Hooks that this instance may not send to, as long as it runs. Another one may. */
  readonly #notAllowed = new Set<string>();
  #state: SenderState = INITIAL_STATE;
  /** By hook: the last one has the position of those before it. */
  #results = new Map<string, Result>();
  #storing: Promise<void> | undefined;
  /** The results that are being stored. */
  #batch: Promise<void> | undefined;
  #hasFailed = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;

  constructor(options: HookSenderOptions) {
    this.#options = options;
    const { delivery, watchReserved } = options;
    this.#slots = new Slots(delivery.maxInFlight);
    watchReserved?.('webhook_slots', () => delivery.maxInFlight - this.#slots.free);
    this.#leadQueue = new PacedQueue(options.processorMs);
    options.changes.onChanges((changes) => {
      const appended = changes?.filter(({ kind }) => kind === 'leads-appended').map(({ id }) => id);
      // Undefined: anything may have changed.
      this.#update(examine(this.#state, appended ?? 'all'));
    });
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There is a hook now. */
  onSubscribed(): void {
    this.#update({ hasHooks: true, claimedAt: NEVER });
    this.#wake();
  }

  /** No new events. Those in flight finish, or are aborted after 2 seconds: then they are sent again when their claims end. */
  async stop(): Promise<void> {
    const { delivery } = this.#options;
    this.#isStopped = true;
    this.#wake();
    await this.#loop;
    const abort = setTimeout(() => delivery.close(), STOP_MS);
    await this.#slots.idle();
    clearTimeout(abort);
    delivery.close();
    await this.#storing;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const step = nextStep(this.#state, performance.now());
      try {
        if (step.kind === 'sweep') await this.#sweep();
        else if (step.kind === 'look') await this.#look();
        else if (step.kind === 'read') await this.#readChanges();
        else if (step.kind === 'claim') await this.#claim();
        else await this.#wait(step.ms);
      } catch (error) {
        this.#logFailure(error);
        this.#update(afterFailure(performance.now()));
      }
    }
  }

  #update(changes: Partial<SenderState>): void {
    this.#state = { ...this.#state, ...changes };
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #sweep(): Promise<void> {
    const { store } = this.#options;
    await store.prune((await store.now()) - EXPIRED_KEPT_MS);
    // Before the query: a hook may be added while it runs.
    this.#update({ hasHooks: false });
    if (await store.hasHooks()) this.#update({ hasHooks: true });
    this.#update({ companies: 'all', sweptAt: performance.now(), claimedAt: NEVER });
  }

  async #look(): Promise<void> {
    this.#update({ readAt: performance.now() });
    if (await this.#options.store.hasHooks()) this.onSubscribed();
  }

  async #readChanges(): Promise<void> {
    await this.#options.changes.readChanges();
    this.#update({ readAt: performance.now() });
  }

  /** Claims until nothing is due, or all slots are taken: the next claim continues. */
  async #claim(): Promise<void> {
    const { store } = this.#options;
    const { companies } = this.#state;
    this.#update({ companies: new Set(), claimedAt: performance.now() });
    let isComplete = false;
    try {
      while (!isComplete && !this.#isStopped) {
        const limit = Math.min(MAX_CLAIMED_AT_ONCE, this.#slots.free);
        if (limit <= 0) break;
        const except = { hooks: [...this.#notAllowed], ...this.#slots.full() };
        const ids = companies === 'all' ? companies : [...companies];
        const begunAt = performance.now();
        const due = await store.claim({ claimMs: CLAIM_MS, companies: ids, except, limit });
        // Only a claim shows that the database answers again.
        this.#hasFailed = false;
        for (const hook of due) this.#dispatch(hook, begunAt);
        isComplete = due.length < limit;
      }
    } finally {
      if (!isComplete) this.#update(examine(this.#state, companies));
    }
  }

  /** `begunAt` is the start of the claim by a monotonic clock. */
  #dispatch(due: DueHook, begunAt: number): void {
    const { companyId, hook } = due;
    // Its other hooks were not claimed meanwhile.
    const onFreed = () => this.#update(examine(this.#state, [companyId]));
    // If the database cannot be read, the claim ends by itself.
    const send = () =>
      (hook.send === 'event' ? this.#sendEvent(due, begunAt) : this.#sendLeads(due, begunAt)).catch(
        (error: unknown) => this.#logFailure(error),
      );
    const hasSlot = this.#slots.run(companyId, hook.failures > 0, send, onFreed);
    if (!hasSlot) this.#addResult({ due, result: { kind: 'no-slot' } });
  }

  async #sendEvent(claimed: DueHook, begunAt: number): Promise<void> {
    const { delivery, publicUrl } = this.#options;
    await takeTurn(claimed.companyId);
    const { due, mayBegin } = await this.#begin(claimed, begunAt);
    if (!mayBegin()) return this.#addResult({ due, result: { kind: 'no-slot' } });
    const window = { since: sinceOf(due), through: due.through };
    const message = eventMessage(due.hook, window, due.claimedAt, publicUrl);
    const sent = postMessage(delivery, due, message, this.#options);
    const outcome = await sent.catch((): Outcome => ({ kind: 'unreachable' }));
    if (outcome === 'aborted') return;
    this.#observe(due.hook, outcome);
    this.#addResult({ due, result: outcome });
  }

  async #sendLeads(claimed: DueHook, begunAt: number): Promise<void> {
    let due = claimed;
    const result = await sendLeads(claimed, {
      ...this.#options,
      queue: this.#leadQueue,
      begin: async () => {
        const claim = await this.#begin(claimed, begunAt);
        due = claim.due;
        return claim;
      },
      onOutcome: (outcome) => this.#observe(claimed.hook, outcome),
      onProgress: async (sent) => {
        this.#addResult({ due, result: sent });
        // So that no more leads are sent again after a crash while the database is slow.
        await this.#batch;
      },
    });
    this.#addResult({ due, result });
  }

  /** `claimBegunAt` is the start of the claim. */
  async #begin(claimed: DueHook, claimBegunAt: number): Promise<BegunClaim> {
    const isLate = performance.now() - claimBegunAt > MAX_LATE_MS;
    const begunAt = isLate ? performance.now() : claimBegunAt;
    const due = isLate ? await this.#claimAgain(claimed) : claimed;
    const mayBegin = () =>
      due !== undefined && !this.#isStopped && !this.#hasFailed && performance.now() - begunAt < MAX_BEGIN_MS;
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

  #observe({ id }: Hook, { kind }: Outcome): void {
    this.#options.onOutcome?.(kind);
    if (kind === 'not-allowed') this.#notAllowed.add(id);
  }

  #addResult(result: Result): void {
    this.#results.set(result.due.hook.id, result);
    this.#storing ??= this.#storeResults();
  }

  /** If it fails, the claims end by themselves, and the events are sent again. */
  async #storeResults(): Promise<void> {
    while (this.#results.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, BATCH_MS));
      const batch = [...this.#results.values()];
      this.#results.clear();
      this.#batch = this.#storeBatch(batch).catch((error: unknown) => this.#logFailure(error));
      await this.#batch;
      this.#batch = undefined;
    }
    this.#storing = undefined;
  }

  async #storeBatch(batch: readonly Result[]): Promise<void> {
    const { store, hasConsumers } = this.#options;
    const now = await store.now();
    const settled: SettledHook[] = [];
    for (const { due, result } of batch) {
      const { hook } = due;
      const context = { now, random: Math.random(), hasConsumers };
      const isOfLeads = 'end' in result;
      const progress = isOfLeads
        ? progressAfterLeads(due, result, context)
        : progressAfter(due, result, context);
      this.#logResult(hook, isOfLeads ? result.end : result, progress);
      if (!isOfLeads && result.kind === 'gone' && (await store.remove(hook.id, hook.createdAt))) continue;
      settled.push({ claimed: hook, progress });
    }
    await store.settle(settled);
    for (const { progress } of settled)
      if (progress.checkAt !== null)
        this.#update(afterResult(this.#state, progress.checkAt - now, performance.now()));
  }

  /** The first failure, and what ends a hook. */
  #logResult(hook: Hook, result: SentLeads['end'], { failures, disabledAt }: HookProgress): void {
    const { log } = this.#options;
    const line = {
      host: hostOfHook(hook),
      tokenId: hook.tokenId,
      outcome: result.kind,
      status: 'status' in result ? result.status : undefined,
    };
    if (result.kind === 'gone') {
      const end = hook.send === 'event' ? 'deleted' : 'disabled';
      log.info(line, `webhook subscription ${end}: its receiver answered 410`);
    } else if (result.kind === 'not-allowed')
      log.warn(line, 'webhook event left to other instances: LEADTAP_HOOK_HOSTS of this one lacks its host');
    else if (disabledAt !== null) log.warn(line, 'webhook subscription disabled: it failed for 3 days');
    else if (failures === 1 && FAILURES.has(result.kind))
      log.warn(line, 'webhook event failed; it is sent again');
  }

  #logFailure(error: unknown): void {
    if (!this.#hasFailed)
      this.#options.log.warn({ err: error }, 'webhook subscriptions could not be read or stored');
    this.#hasFailed = true;
  }
}

const FAILURES: ReadonlySet<SentLeads['end']['kind']> = new Set(['refused', 'timeout', 'unreachable']);

/** The events in flight. Their slots are shared by companies: receivers of one that hang must not delay the events of others. */
export class Slots {
  #free: number;
  readonly #byCompany = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  constructor(max: number) {
    this.#free = max;
  }

  get free(): number {
    return this.#free;
  }

  /**
   * Runs this in a slot of the company. Returns false, and runs nothing, if the company has its share. Calls `onFreed` at the end if
   * it had its share until then: others of the company may have waited for the slot.
   */
  run(companyId: string, isRetry: boolean, work: () => Promise<void>, onFreed: () => void): boolean {
    if (this.#isFull(companyId, isRetry)) return false;
    this.#take(companyId, 1);
    const running = work().finally(() => {
      const wasFull = this.#isFull(companyId, false);
      this.#running.delete(running);
      this.#take(companyId, -1);
      if (wasFull) onFreed();
    });
    this.#running.add(running);
    return true;
  }

  /** When none is in flight any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The companies that have their share: of all slots, and of those for retries. */
  full(): { readonly companies: readonly string[]; readonly retriesOf: readonly string[] } {
    const fullFor = (isRetry: boolean) =>
      [...this.#byCompany.keys()].filter((id) => this.#isFull(id, isRetry));
    return { companies: fullFor(false), retriesOf: fullFor(true) };
  }

  #take(companyId: string, slots: 1 | -1): void {
    const taken = (this.#byCompany.get(companyId) ?? 0) + slots;
    this.#free -= slots;
    if (taken > 0) this.#byCompany.set(companyId, taken);
    else this.#byCompany.delete(companyId);
  }

  /** A company may have as many as are free then: half of all if it is the only one. For retries, it is a tenth of that. */
  #isFull(companyId: string, isRetry: boolean): boolean {
    const taken = this.#byCompany.get(companyId) ?? 0;
    return this.#free <= 0 || taken >= Math.max(1, isRetry ? Math.floor(this.#free / 10) : this.#free);
  }
}
