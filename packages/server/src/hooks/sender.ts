/**
 * Sends the events of webhook subscriptions. The store says which are due: a hook is claimed, its event is sent, and what follows from
 * the response is stored (`rules.ts`). So nothing is queued here, and a process that is killed loses nothing: its claims end.
 */
import { setImmediate } from 'node:timers/promises';
import type { ChangeSource } from '../cache/change-source.ts';
import type { DueHook, Hook, HookProgress, HookStore } from '../store/hooks.ts';
import type { Change } from '../store/store.ts';
import { createDelivery, type DeliveryOptions } from './deliver.ts';
import { type EventOptions, sendEvent } from './event.ts';
import { type Outcome, progressAfter, sinceOf } from './rules.ts';
import { hostOfHook } from './url.ts';

/** The part of a pino logger that the sender uses. Lines have the host of a URL: the whole one is a secret. */
export interface SenderLog {
  warn(line: object, message: string): void;
  info(line: object, message: string): void;
}

export interface HookSenderOptions extends EventOptions {
  readonly store: HookStore;
  /** Undefined: the store does not track changes, and all hooks are examined every second. */
  readonly changes: ChangeSource | undefined;
  readonly hasConsumers: boolean;
  readonly log: SenderLog;
  readonly onOutcome?: ((kind: Outcome['kind']) => void) | undefined;
  readonly delivery?: DeliveryOptions | undefined;
}

/** How often the change log is read while there are hooks. */
const TICK_MS = 100;
/** After an error of the database. */
const RETRY_MS = 1000;
/** Hooks of other processes whose `checkAt` has come are found so often. */
const CLAIM_INTERVAL_MS = 1000;
/** All hooks are examined, ended ones deleted, and a service without hooks looks whether there is one. */
const SWEEP_INTERVAL_MS = 60_000;
/** Longer than the timeout of an event. */
const CLAIM_MS = 15_000;
const MAX_CLAIMED_AT_ONCE = 200;
/** Events of a claim that are sent without a pause: each takes a part of a millisecond, and polls are answered between them. */
const MAX_SENT_AT_ONCE = 20;
/** Events in flight that still do work. */
const MAX_RECENT = 500;
const RECENT_MS = 1000;
/** Of those in flight, hooks whose last event failed too. */
const MAX_RETRIES_IN_FLIGHT = 100;
const POSTPONE_MS = 1000;
/** The settlements of this time are stored together. */
const SETTLE_MS = 20;
/** Events in flight may finish for so long when the service stops. */
const STOP_MS = 2000;

interface Settlement {
  readonly claimed: Hook;
  readonly progress: HookProgress;
}

export class HookSender {
  readonly #options: HookSenderOptions;
  readonly #delivery: ReturnType<typeof createDelivery>;
  /** Companies with new leads since the last claim. */
  #companies: Set<string> | 'all' = 'all';
  /** With the time of their start. */
  readonly #inFlight = new Map<Promise<void>, number>();
  #retriesInFlight = 0;
  #settlements: Settlement[] = [];
  #settling: Promise<void> | undefined;
  /** By the monotonic clock, like all times of the loop: the clock of the system may be set. */
  #nextClaimAt = 0;
  /** Until then, hooks may be at the end of the pause after their event: each tick claims. */
  #claimUntil = 0;
  #nextSweepAt = 0;
  #hasHooks = false;
  #wasSubscribed = false;
  #hasFailed = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;

  constructor(options: HookSenderOptions) {
    this.#options = options;
    this.#delivery = createDelivery(options.delivery);
    options.changes?.onChanges((changes) => this.#receive(changes));
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There is a hook now. */
  onSubscribed(): void {
    this.#wasSubscribed = true;
    this.#hasHooks = true;
    this.#nextClaimAt = 0;
    this.#wake();
  }

  /** No new events. Those in flight finish, or are aborted after 2 seconds: then they are sent again when their claims end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#loop;
    const abort = setTimeout(() => this.#delivery.close(), STOP_MS);
    await Promise.all(this.#inFlight.keys());
    clearTimeout(abort);
    this.#delivery.close();
    await this.#settling;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      let pauseMs = RETRY_MS;
      try {
        await this.#tick();
        this.#hasFailed = false;
        // Without hooks until the next sweep, or until there is one.
        pauseMs = this.#hasHooks ? TICK_MS : Math.max(TICK_MS, this.#nextSweepAt - performance.now());
      } catch (error) {
        this.#logFailure(error);
        // Only a claim shows that the database answers again.
        this.#nextClaimAt = 0;
      }
      if (!this.#isStopped) await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #tick(): Promise<void> {
    const { store, changes, clock } = this.#options;
    if (performance.now() >= this.#nextSweepAt) {
      await store.prune(clock());
      this.#wasSubscribed = false;
      const hasHooks = await store.hasHooks();
      this.#hasHooks = hasHooks || this.#wasSubscribed;
      this.#companies = 'all';
      this.#nextClaimAt = 0;
      this.#nextSweepAt = performance.now() + SWEEP_INTERVAL_MS;
    }
    if (!this.#hasHooks) return;
    await changes?.readChanges();
    const now = performance.now();
    const isDue = now >= this.#nextClaimAt;
    if (isDue && !changes) this.#companies = 'all';
    // All hooks are examined once a second at most, also while the change log cannot say what has changed.
    const hasChanges = this.#companies !== 'all' && (this.#companies.size > 0 || now < this.#claimUntil);
    if (isDue || hasChanges) await this.#claim();
  }

  #receive(changes: readonly Change[] | undefined): void {
    if (changes === undefined) this.#companies = 'all';
    else if (this.#companies !== 'all')
      for (const { kind, id } of changes) if (kind === 'leads-appended') this.#companies.add(id);
  }

  /** Claims until nothing is due, or all places are taken: the next tick continues. */
  async #claim(): Promise<void> {
    const { store, clock } = this.#options;
    const taken = this.#companies;
    const companies = taken === 'all' ? taken : [...taken];
    this.#companies = new Set();
    this.#nextClaimAt = performance.now() + CLAIM_INTERVAL_MS;
    let isComplete = false;
    try {
      while (!isComplete && !this.#isStopped) {
        const limit = Math.min(MAX_CLAIMED_AT_ONCE, this.#freePlaces());
        if (limit <= 0) break;
        const now = clock();
        const due = await store.claim({ now, claimUntil: now + CLAIM_MS, companies, limit });
        for (const [index, hook] of due.entries()) {
          if (index % MAX_SENT_AT_ONCE === 0) await setImmediate();
          this.#dispatch(hook);
        }
        isComplete = due.length < limit;
      }
    } finally {
      if (!isComplete) this.#addCompanies(companies);
    }
  }

  #freePlaces(): number {
    const waitingSince = performance.now() - RECENT_MS;
    const recent = [...this.#inFlight.values()].filter((startedAt) => startedAt > waitingSince).length;
    return Math.min(MAX_RECENT - recent, this.#delivery.maxInFlight - this.#inFlight.size);
  }

  #addCompanies(companies: readonly string[] | 'all'): void {
    if (companies === 'all') this.#companies = 'all';
    else if (this.#companies !== 'all') for (const id of companies) this.#companies.add(id);
  }

  #dispatch(due: DueHook): void {
    const isRetry = due.hook.failures > 0;
    if (isRetry && this.#retriesInFlight >= MAX_RETRIES_IN_FLIGHT) {
      const at = this.#options.clock() + POSTPONE_MS;
      this.#settle(due.hook, { ...due.hook, notBefore: at, checkAt: at });
      return;
    }
    if (isRetry) this.#retriesInFlight += 1;
    const sent = this.#send(due).finally(() => {
      this.#inFlight.delete(sent);
      if (isRetry) this.#retriesInFlight -= 1;
    });
    this.#inFlight.set(sent, performance.now());
  }

  async #send(due: DueHook): Promise<void> {
    const { clock, hasConsumers, onOutcome } = this.#options;
    const { hook, through } = due;
    const outcome = await sendEvent(this.#delivery, due, { since: sinceOf(due), through }, this.#options);
    if (outcome === 'aborted') return;
    onOutcome?.(outcome.kind);
    const progress = progressAfter(due, outcome, { now: clock(), random: Math.random(), hasConsumers });
    this.#logOutcome(hook, outcome, progress);
    if (outcome.kind === 'gone') await this.#remove(hook);
    else this.#settle(hook, progress);
  }

  /** Its program may have subscribed again right after the 410. */
  async #remove(hook: Hook): Promise<void> {
    const { store, clock } = this.#options;
    try {
      const isRemoved = await store.remove(hook.id, hook.createdAt);
      if (!isRemoved) this.#settle(hook, { ...hook, notBefore: clock(), checkAt: clock() });
    } catch (error) {
      // Its claim ends, the receiver answers 410 again.
      this.#logFailure(error);
    }
  }

  #settle(claimed: Hook, progress: HookProgress): void {
    this.#settlements.push({ claimed, progress });
    this.#settling ??= this.#storeSettlements();
    if (progress.checkAt === null) return;
    const checkInMs = progress.checkAt - this.#options.clock();
    if (checkInMs <= CLAIM_INTERVAL_MS) this.#claimUntil = performance.now() + checkInMs + 2 * TICK_MS;
  }

  /** If it fails, the claims end by themselves, and the events are sent again. */
  async #storeSettlements(): Promise<void> {
    while (this.#settlements.length > 0) {
      if (!this.#isStopped) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      const settled = this.#settlements;
      this.#settlements = [];
      try {
        await this.#options.store.settle(settled);
      } catch (error) {
        this.#logFailure(error);
      }
    }
    this.#settling = undefined;
  }

  #logFailure(error: unknown): void {
    if (!this.#hasFailed)
      this.#options.log.warn({ err: error }, 'webhook subscriptions could not be read or stored');
    this.#hasFailed = true;
  }

  /** The first failure, and what ends a hook. */
  #logOutcome(hook: Hook, outcome: Outcome, { failures, disabledAt }: HookProgress): void {
    const { log } = this.#options;
    const line = {
      host: hostOfHook(hook),
      tokenId: hook.tokenId,
      outcome: outcome.kind,
      status: 'status' in outcome ? outcome.status : undefined,
    };
    if (outcome.kind === 'gone') log.info(line, 'webhook subscription deleted: its receiver answered 410');
    else if (disabledAt !== null) log.warn(line, 'webhook subscription disabled: it failed for 3 days');
    else if (failures === 1) log.warn(line, 'webhook event failed; it is sent again');
  }
}
