import { StoreUnavailableError } from '../errors.ts';
import { LOCK_TIMEOUT_MS } from './connection.ts';
import type { LockQueue } from './lock-queue.ts';

export interface AttemptOptions {
  readonly lockTimeoutMs: number;
  /** The group is one request. It is part of a group that failed, and must find out why. */
  readonly isRetry: boolean;
}

interface Part<Request, Outcome> {
  readonly request: Request;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The requests of a company that wait for its lock are written in one transaction: a commit waits for the disk, and each statement
 * for the network. None is acknowledged before the commit. If the transaction fails, each request is written alone.
 */
export class GroupCommit<Request, Outcome> {
  readonly #queue: LockQueue;
  /** How many of the first requests can share a transaction; at least one. */
  readonly #countGroup: (requests: readonly Request[]) => number;
  /** Writes each request as a whole or not at all, and returns their outcomes in order. */
  readonly #write: (requests: readonly Request[], options: AttemptOptions) => Promise<readonly Outcome[]>;
  /** By company, in the order of arrival. */
  readonly #waiting = new Map<string, Part<Request, Outcome>[]>();

  constructor(
    queue: LockQueue,
    countGroup: (requests: readonly Request[]) => number,
    write: (requests: readonly Request[], options: AttemptOptions) => Promise<readonly Outcome[]>,
  ) {
    this.#queue = queue;
    this.#countGroup = countGroup;
    this.#write = write;
  }

  write(companyId: string, request: Request): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      void this.#enqueue(companyId, { request, resolve, reject });
    });
  }

  /** Every request has its place and its timeout in the queue of locks. The first one takes those behind it into its group. */
  async #enqueue(companyId: string, part: Part<Request, Outcome>): Promise<void> {
    const waiting = this.#waiting.get(companyId) ?? [];
    this.#waiting.set(companyId, waiting);
    waiting.push(part);
    await this.#queue.run(companyId, LOCK_TIMEOUT_MS, async (remainingMs) => {
      // Otherwise it is part of a group that was written before.
      if (waiting.includes(part)) await this.#writeGroup(this.#takeGroup(waiting), remainingMs);
    });
    if (waiting.includes(part)) {
      waiting.splice(waiting.indexOf(part), 1);
      part.reject(new StoreUnavailableError('too many writes of leads wait for the lock of their company'));
    }
    if (waiting.length === 0) this.#waiting.delete(companyId);
  }

  #takeGroup(waiting: Part<Request, Outcome>[]): Part<Request, Outcome>[] {
    return waiting.splice(0, this.#countGroup(waiting.map(({ request }) => request)));
  }

  async #writeGroup(parts: readonly Part<Request, Outcome>[], remainingMs: number): Promise<void> {
    const deadline = performance.now() + remainingMs;
    const attempt = async (group: typeof parts, isRetry: boolean) => {
      const lockTimeoutMs = Math.max(1, Math.floor(deadline - performance.now()));
      const outcomes = await this.#write(
        group.map(({ request }) => request),
        { lockTimeoutMs, isRetry },
      );
      for (const [index, outcome] of outcomes.entries()) group[index]?.resolve(outcome);
    };
    try {
      await attempt(parts, false);
    } catch (error) {
      const isUnavailable = error instanceof StoreUnavailableError;
      for (const part of parts)
        if (isUnavailable) part.reject(error);
        else await attempt([part], true).catch(part.reject);
    }
  }
}
