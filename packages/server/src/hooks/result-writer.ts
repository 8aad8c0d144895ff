/** Stores and records what follows from attempts, in batches: the claim of each ends, or goes on with a new position. */
import type { ConnectionRecorder } from '../connections/recorder.ts';
import type { PushRun } from '../connections/store.ts';
import type { Outage, SenderLog } from './outage.ts';
import { connectionKeyOf, pushesOf } from './pushes.ts';
import {
  type ClaimResult,
  progressAfter,
  progressAfterLeads,
  type SentLead,
  type SentLeads,
} from './rules.ts';
import {
  type DueHook,
  type Hook,
  type HookProgress,
  type HookStore,
  hostOfHook,
  type SettledHook,
} from './store.ts';

export interface ResultWriterOptions {
  readonly store: Pick<HookStore, 'now' | 'settle' | 'remove'>;
  readonly log: SenderLog;
  /** Default: it is not recorded. */
  readonly connections?: Pick<ConnectionRecorder, 'recordPush'> | undefined;
}

/** The results of so long are stored together. Leads that were accepted meanwhile are sent again after a crash. */
const BATCH_MS = 20;

interface Result {
  readonly due: DueHook;
  /** Of a hook that sends leads, unless it was postponed: what was sent. */
  readonly result: ClaimResult | SentLeads;
  /** The leads that were accepted since the last batch. */
  readonly sent: readonly SentLead[];
  /** Of the last request. */
  readonly durationMs: number | undefined;
}

export class ResultWriter {
  readonly #options: ResultWriterOptions;
  readonly #outage: Outage;
  readonly #onStored: (checkInMs: number) => void;
  /** By hook: the last one has the position of those before it. */
  readonly #results = new Map<string, Result>();
  #writing: Promise<void> | undefined;
  #batch: { readonly begunAt: number; readonly stored: Promise<void> } | undefined;

  /** `onStored`: a hook is to be examined again after so long. */
  constructor(options: ResultWriterOptions, outage: Outage, onStored: (checkInMs: number) => void) {
    this.#options = options;
    this.#outage = outage;
    this.#onStored = onStored;
  }

  add(due: DueHook, result: Result['result'], durationMs?: number): void {
    const before = this.#results.get(due.hook.id)?.sent ?? [];
    const sent = 'end' in result && result.sent ? [...before, result.sent] : before;
    this.#results.set(due.hook.id, { due, result, sent, durationMs });
    this.#writing ??= this.#write();
  }

  /** While the database is slow: until the batch that is being stored is stored or has failed. */
  async waitForSlowBatch(): Promise<void> {
    if (this.#batch && performance.now() - this.#batch.begunAt > BATCH_MS) await this.#batch.stored;
  }

  /** Until all results are stored or have failed. */
  async waitUntilStored(): Promise<void> {
    await this.#writing;
  }

  /** If it fails, the claims end by themselves, and the events are sent again. */
  async #write(): Promise<void> {
    while (this.#results.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, BATCH_MS));
      const batch = [...this.#results.values()];
      this.#results.clear();
      const stored = this.#store(batch).catch((error: unknown) => this.#outage.begin(error));
      this.#batch = { begunAt: performance.now(), stored };
      await stored;
      this.#batch = undefined;
    }
    this.#writing = undefined;
  }

  async #store(batch: readonly Result[]): Promise<void> {
    const { store, connections } = this.#options;
    const now = await store.now();
    const settled: SettledHook[] = [];
    const pushed: { readonly hook: Hook; readonly run: PushRun }[] = [];
    for (const one of batch) {
      const { due, result, sent } = one;
      const { hook } = due;
      const context = { now, random: Math.random() };
      const isOfLeads = 'end' in result;
      const after = isOfLeads
        ? progressAfterLeads(due, result, context)
        : progressAfter(due, result, context);
      this.#log(hook, isOfLeads ? result.end : result, after);
      for (const run of pushesOf(one, after, now)) pushed.push({ hook, run });
      if (!isOfLeads && result.kind === 'gone' && (await store.remove(hook.id, hook.createdAt))) continue;
      settled.push({
        claimed: hook,
        progress: after,
        ...(sent.length > 0 && {
          accepted: {
            companyId: due.companyId,
            createdAt: sent.map(({ createdAt }) => createdAt),
            pending: sent.flatMap(({ pending }) => pending ?? []),
          },
        }),
      });
    }
    await store.settle(settled);
    for (const { hook, run } of pushed)
      connections?.recordPush(connectionKeyOf(hook), hook.tokenExpiresAt, run);
    for (const { progress } of settled) if (progress.checkAt !== null) this.#onStored(progress.checkAt - now);
  }

  /** The first failure, and what ends a hook. */
  #log(hook: Hook, result: SentLeads['end'], { failures, disabledAt }: HookProgress): void {
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
}

const FAILURES: ReadonlySet<SentLeads['end']['kind']> = new Set(['refused', 'timeout', 'unreachable']);
