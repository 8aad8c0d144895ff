/** Records what was sent to webhooks, off the path of the requests: in memory, written in batches. Prunes the log of all. */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { waitFor } from '../lib/timeout.ts';
import { addAttempt, type PendingAttempt } from './merge-attempts.ts';
import { ATTEMPTS_KEPT_MS, type AttemptStore, type SubjectAttempts } from './store.ts';

export interface AttemptRecorderOptions {
  readonly clock: Clock;
  /** Receives a line if attempts cannot be recorded, at most once until they can be again. */
  readonly log?: { warn(line: object, message: string): void };
  /** At most this long after an attempt, it is written. */
  readonly flushMs?: number | undefined;
}

interface Pending extends SubjectAttempts {
  readonly attempts: PendingAttempt[];
}

const FLUSH_MS = 5000;
const PRUNE_INTERVAL_MS = 3_600_000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2000;
/** In memory. Attempts of further ones are not recorded until the next write. */
const MAX_SUBJECTS = 10_000;
/** SQLite answers no poll meanwhile. */
const SUBJECTS_PER_TRANSACTION = 50;

export class AttemptRecorder {
  readonly #store: AttemptStore;
  readonly #options: AttemptRecorderOptions;
  #pending = new Map<string, Pending>();
  #timer: NodeJS.Timeout | undefined;
  #pruneTimer: NodeJS.Timeout | undefined;
  #lastWrite: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #isClosed = false;

  constructor(store: AttemptStore, options: AttemptRecorderOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Prunes now and every hour. */
  start(): void {
    const prune = () => this.#run(() => this.#store.prune(this.#options.clock() - ATTEMPTS_KEPT_MS));
    this.#pruneTimer = setInterval(prune, PRUNE_INTERVAL_MS).unref();
    void prune();
  }

  add(subject: string, userId: string, attempt: PendingAttempt): void {
    const known = this.#pending.get(subject);
    if (!known && (this.#pending.size >= MAX_SUBJECTS || this.#isClosed)) return;
    const entry = known ?? { subject, userId, attempts: [] };
    addAttempt(entry.attempts, attempt);
    this.#pending.set(subject, entry);
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.flushMs ?? FLUSH_MS).unref();
  }

  /** Writes what has been recorded. Does not reject: a database that fails loses a part of the log, never a lead. */
  flush(): Promise<void> {
    return this.#run(async () => {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const pending = [...this.#pending.values()];
      this.#pending = new Map();
      for (let start = 0; start < pending.length; start += SUBJECTS_PER_TRANSACTION) {
        await this.#store.record(pending.slice(start, start + SUBJECTS_PER_TRANSACTION));
        await setImmediate();
      }
    });
  }

  /** Writes once more, and waits for it for 2 seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#pruneTimer);
    await waitFor(MAX_CLOSE_MS, this.flush());
  }

  /** One after the other. */
  #run(work: () => Promise<void>): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(work).then(
      () => {
        this.#hasFailed = false;
      },
      (err: unknown) => {
        if (!this.#hasFailed) this.#options.log?.warn({ err }, 'attempts could not be recorded');
        this.#hasFailed = true;
      },
    );
    return this.#lastWrite;
  }
}
