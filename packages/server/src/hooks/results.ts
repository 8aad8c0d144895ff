/** Stores what follows from the results of claims, those of some milliseconds together. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClaimResult, progressAfter } from './rules.ts';
import type { DueHook, Hook, HookProgress, HookStore, SettledHook } from './store.ts';
import { hostOfHook } from './url.ts';

/** The part of a pino logger that the sender uses. Lines have the host of a URL: the whole one is a secret. */
export interface SenderLog {
  warn(line: object, message: string): void;
  info(line: object, message: string): void;
}

export interface ResultsOptions {
  readonly store: HookStore;
  readonly hasConsumers: boolean;
  readonly log: SenderLog;
  /** A hook is to be examined again, after so long. */
  readonly onStored: (checkInMs: number) => void;
  readonly onFailure: (error: unknown) => void;
}

interface Result {
  readonly due: DueHook;
  readonly result: ClaimResult;
}

const BATCH_MS = 20;

export class Results {
  readonly #options: ResultsOptions;
  #results: Result[] = [];
  #storing: Promise<void> | undefined;

  constructor(options: ResultsOptions) {
    this.#options = options;
  }

  add(due: DueHook, result: ClaimResult): void {
    this.#results.push({ due, result });
    this.#storing ??= this.#store();
  }

  /** When all are stored. */
  async flush(): Promise<void> {
    await this.#storing;
  }

  /** If it fails, the claims end by themselves, and the events are sent again. */
  async #store(): Promise<void> {
    while (this.#results.length > 0) {
      await sleep(BATCH_MS);
      const batch = this.#results;
      this.#results = [];
      await this.#storeBatch(batch).catch(this.#options.onFailure);
    }
    this.#storing = undefined;
  }

  async #storeBatch(batch: readonly Result[]): Promise<void> {
    const { store, hasConsumers, onStored } = this.#options;
    const now = await store.now();
    const settled: SettledHook[] = [];
    for (const { due, result } of batch) {
      const { hook } = due;
      const progress = progressAfter(due, result, { now, random: Math.random(), hasConsumers });
      this.#log(hook, result, progress);
      if (result.kind === 'gone' && (await store.remove(hook.id, hook.createdAt))) continue;
      settled.push({ claimed: hook, progress });
    }
    await store.settle(settled);
    for (const { progress } of settled) if (progress.checkAt !== null) onStored(progress.checkAt - now);
  }

  /** The first failure, and what ends a hook. */
  #log(hook: Hook, result: ClaimResult, { failures, disabledAt }: HookProgress): void {
    const { log } = this.#options;
    const line = {
      host: hostOfHook(hook),
      tokenId: hook.tokenId,
      outcome: result.kind,
      status: 'status' in result ? result.status : undefined,
    };
    if (result.kind === 'gone') log.info(line, 'webhook subscription deleted: its receiver answered 410');
    else if (result.kind === 'not-allowed')
      log.warn(line, 'webhook event left to other instances: LEADTAP_HOOK_HOSTS of this one lacks its host');
    else if (disabledAt !== null) log.warn(line, 'webhook subscription disabled: it failed for 3 days');
    else if (failures === 1 && result.kind !== 'no-place')
      log.warn(line, 'webhook event failed; it is sent again');
  }
}
