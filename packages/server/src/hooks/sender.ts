/**
 * Sends the events of webhook subscriptions. The store says which are due: a hook is claimed, its event is sent, and what follows from
 * the response is stored (`rules.ts`). So nothing is queued here, and a process that is killed loses nothing: its claims end.
 */
import type { WatchReserved } from '../lib/reserved.ts';
import type { ChangeSource } from '../poll/store.ts';
import { CLAIM_MS, ClaimSender, type ClaimSenderOptions } from './claim-sender.ts';
import { Outage } from './outage.ts';
import { ResultWriter, type ResultWriterOptions } from './result-writer.ts';
import {
  afterFailure,
  afterResult,
  examine,
  INITIAL_STATE,
  NEVER,
  nextStep,
  type SenderState,
} from './schedule.ts';
import { Slots } from './slots.ts';
import type { DueHook, HookStore } from './store.ts';

export interface HookSenderOptions extends ClaimSenderOptions, ResultWriterOptions {
  readonly store: ClaimSenderOptions['store'] &
    ResultWriterOptions['store'] &
    Pick<HookStore, 'claim' | 'prune' | 'hasHooks'>;
  readonly changes: ChangeSource;
  readonly watchReserved?: WatchReserved | undefined;
}

const MAX_CLAIMED_AT_ONCE = 200;
/** Events in flight may finish for so long when the service stops. */
const STOP_MS = 2000;
/** Hooks of expired tokens send nothing. They are deleted much later, so that a clock that is wrong for a while deletes none. */
const EXPIRED_KEPT_MS = 90 * 86_400_000;

export class HookSender {
  readonly #options: HookSenderOptions;
  readonly #slots: Slots;
  readonly #outage: Outage;
  readonly #results: ResultWriter;
  readonly #claimSender: ClaimSender;
  #state: SenderState = INITIAL_STATE;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;

  constructor(options: HookSenderOptions) {
    this.#options = options;
    // While a company has its share of the slots, its other hooks are not claimed.
    this.#slots = new Slots(options.delivery.maxInFlight, (companyId) => this.#examine([companyId]));
    options.watchReserved?.('webhook_slots', () => this.#slots.taken);
    this.#outage = new Outage(options.log);
    this.#results = new ResultWriter(options, this.#outage, (checkInMs) =>
      this.#update(afterResult(this.#state, checkInMs, performance.now())),
    );
    this.#claimSender = new ClaimSender(options, this.#results, this.#outage);
    options.changes.onChanges((changes) => {
      const appended = changes?.filter(({ kind }) => kind === 'leads-appended').map(({ id }) => id);
      // Undefined: anything may have changed.
      this.#examine(appended ?? 'all');
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
    this.#claimSender.stop();
    this.#wake();
    await this.#loop;
    const abort = setTimeout(() => delivery.close(), STOP_MS);
    await this.#slots.idle();
    clearTimeout(abort);
    delivery.close();
    await this.#results.waitUntilStored();
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
        this.#outage.begin(error);
        this.#update(afterFailure(performance.now()));
      }
    }
  }

  #update(changes: Partial<SenderState>): void {
    this.#state = { ...this.#state, ...changes };
  }

  /** The next claim examines these companies too. */
  #examine(companies: Iterable<string> | 'all'): void {
    this.#update(examine(this.#state, companies));
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
        const except = { hooks: [...this.#claimSender.notAllowed], ...this.#slots.full() };
        const ids = companies === 'all' ? companies : [...companies];
        const begunAt = performance.now();
        const due = await store.claim({ claimMs: CLAIM_MS, companies: ids, except, limit });
        this.#outage.end();
        for (const hook of due) this.#dispatch(hook, begunAt);
        isComplete = due.length < limit;
      }
    } finally {
      if (!isComplete) this.#examine(companies);
    }
  }

  /** `begunAt` is the start of the claim by a monotonic clock. */
  #dispatch(due: DueHook, begunAt: number): void {
    const { companyId, hook } = due;
    // If the database cannot be read, the claim ends by itself.
    const send = () =>
      this.#claimSender.send(due, begunAt).catch((error: unknown) => this.#outage.begin(error));
    const hasSlot = this.#slots.run(companyId, hook.failures > 0, send);
    if (!hasSlot) this.#results.add(due, { kind: 'postponed' });
  }
}
