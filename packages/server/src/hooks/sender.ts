/**
 * Sends the events of webhook subscriptions. The store says which are due: a hook is claimed, its event is sent, and what follows from
 * the response is stored (`rules.ts`). So nothing is queued here, and a process that is killed loses nothing: its claims end.
 */
import { setImmediate } from 'node:timers/promises';
import type { ChangeSource } from '../poll/store.ts';
import { ChangedCompanies } from './changed-companies.ts';
import { createDelivery, type Delivery, type DeliveryOptions } from './deliver.ts';
import { type EventOptions, sendEvent } from './event.ts';
import { Places } from './places.ts';
import { Results, type ResultsOptions } from './results.ts';
import { type ClockReading, expiredBefore, type Outcome, READING_INTERVAL_MS, sinceOf } from './rules.ts';
import type { DueHook } from './store.ts';

export interface HookSenderOptions
  extends EventOptions,
    Pick<ResultsOptions, 'store' | 'hasConsumers' | 'log'> {
  /** Undefined: the store does not track changes, and all hooks are examined every second. */
  readonly changes: ChangeSource | undefined;
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
/** Events in flight may finish for so long when the service stops. */
const STOP_MS = 2000;

export class HookSender {
  readonly #options: HookSenderOptions;
  readonly #delivery: Delivery;
  readonly #places: Places;
  readonly #results: Results;
  readonly #companies = new ChangedCompanies();
  readonly #inFlight = new Set<Promise<void>>();
  /** Hooks that this instance may not send to, as long as it runs. Another one may. */
  readonly #notAllowed = new Set<string>();
  /** By the monotonic clock, like all times of the loop: the clock of the system may be set. */
  #nextClaimAt = 0;
  /** Until then, hooks may be at the end of the pause after their event: each tick claims. */
  #claimUntil = 0;
  #nextSweepAt = 0;
  #reading: ClockReading | undefined;
  #hasHooks = false;
  #hasFailed = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;

  constructor(options: HookSenderOptions) {
    this.#options = options;
    this.#delivery = createDelivery(options.delivery);
    this.#places = new Places(this.#delivery.maxInFlight);
    this.#results = new Results({
      ...options,
      onStored: (checkInMs) => {
        if (checkInMs <= CLAIM_INTERVAL_MS) this.#claimUntil = performance.now() + checkInMs + 2 * TICK_MS;
      },
      onFailure: (error) => this.#logFailure(error),
    });
    options.changes?.onChanges((changes) => this.#companies.receive(changes));
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There is a hook now. */
  onSubscribed(): void {
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
    await Promise.all(this.#inFlight);
    clearTimeout(abort);
    this.#delivery.close();
    await this.#results.flush();
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
    const { changes } = this.#options;
    if (performance.now() >= this.#nextSweepAt) await this.#sweep();
    if (!this.#hasHooks) return;
    await changes?.readChanges();
    const now = performance.now();
    const isTime = now >= this.#nextClaimAt;
    if (isTime && !changes) this.#companies.add('all');
    // All hooks are examined once a second at most, also while the change log cannot say what has changed.
    const hasChanges = this.#companies.areSome || (now < this.#claimUntil && !this.#companies.areAll);
    if (isTime || hasChanges) await this.#claim();
  }

  async #sweep(): Promise<void> {
    const { store } = this.#options;
    const reading = { now: await store.now(), monotonicMs: performance.now() };
    this.#reading ??= reading;
    const isComparable = reading.monotonicMs - this.#reading.monotonicMs >= READING_INTERVAL_MS;
    await store.prune(isComparable ? expiredBefore(this.#reading, reading) : 0);
    if (isComparable) this.#reading = reading;
    // Before the query: a hook may be added while it runs.
    this.#hasHooks = false;
    if (await store.hasHooks()) this.#hasHooks = true;
    this.#companies.add('all');
    this.#nextClaimAt = 0;
    this.#nextSweepAt = performance.now() + SWEEP_INTERVAL_MS;
  }

  /** Claims until nothing is due, or all places are taken: the next tick continues. */
  async #claim(): Promise<void> {
    const companies = this.#companies.take();
    this.#nextClaimAt = performance.now() + CLAIM_INTERVAL_MS;
    let isComplete = false;
    try {
      while (!isComplete && !this.#isStopped) {
        const limit = Math.min(MAX_CLAIMED_AT_ONCE, this.#places.free);
        if (limit <= 0) break;
        const except = { hooks: [...this.#notAllowed], ...this.#places.full() };
        const due = await this.#options.store.claim({ claimMs: CLAIM_MS, companies, except, limit });
        for (const [index, hook] of due.entries()) {
          if (index % MAX_SENT_AT_ONCE === 0) await setImmediate();
          this.#dispatch(hook);
        }
        isComplete = due.length < limit;
      }
    } finally {
      if (!isComplete) this.#companies.add(companies);
    }
  }

  #dispatch(due: DueHook): void {
    const { companyId, hook } = due;
    if (!this.#places.take(companyId, hook.failures > 0)) {
      this.#results.add(due, { kind: 'no-place' });
      return;
    }
    const sent = this.#send(due).finally(() => {
      this.#inFlight.delete(sent);
      // Its other hooks were not claimed meanwhile.
      if (this.#places.release(companyId)) this.#companies.add([companyId]);
    });
    this.#inFlight.add(sent);
  }

  async #send(due: DueHook): Promise<void> {
    const window = { since: sinceOf(due), through: due.through };
    const sent = sendEvent(this.#delivery, due, window, this.#options);
    const outcome = await sent.catch((): Outcome => ({ kind: 'unreachable' }));
    if (outcome === 'aborted') return;
    this.#options.onOutcome?.(outcome.kind);
    if (outcome.kind === 'not-allowed') this.#notAllowed.add(due.hook.id);
    this.#results.add(due, outcome);
  }

  #logFailure(error: unknown): void {
    if (!this.#hasFailed)
      this.#options.log.warn({ err: error }, 'webhook subscriptions could not be read or stored');
    this.#hasFailed = true;
  }
}
