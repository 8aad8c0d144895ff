import { StoreUnavailableError } from '../../sql/errors.ts';
import { LOCK_TIMEOUT_MS } from './connection.ts';
import { isUnavailableForSome } from './errors.ts';
import type { LockQueue } from './lock-queue.ts';

export interface AttemptOptions {
  readonly lockTimeoutMs: number;
  /** The group is one request. It is part of a group that failed with this error, and must find out why. */
  readonly failure?: unknown;
}

interface Part<Request, Outcome> {
  readonly request: Request;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The requests that wait in a queue are written in one transaction: a commit waits for the disk, and each statement for the network.
 * None is acknowledged before the commit. If the transaction fails, each request is written alone.
 */
export class GroupCommit<Request, Outcome> {
  readonly #lockQueue: LockQueue;
  /** How many of the first requests can share a transaction; at least one. */
  readonly #countGroup: (requests: readonly Request[]) => number;
  /** Writes each request as a whole or not at all, and returns their outcomes in order. */
  readonly #write: (requests: readonly Request[], options: AttemptOptions) => Promise<readonly Outcome[]>;
  /** By queue, in the order of arrival. */
  readonly #waiting = new Map<string, Part<Request, Outcome>[]>();

  constructor(
    lockQueue: LockQueue,
    countGroup: (requests: readonly Request[]) => number,
    write: (requests: readonly Request[], options: AttemptOptions) => Promise<readonly Outcome[]>,
  ) {
    this.#lockQueue = lockQueue;
    this.#countGroup = countGroup;
    this.#write = write;
  }

  write(queue: string, request: Request): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      void this.#enqueue(queue, { request, resolve, reject });
    });
  }

  /** Every request has its place and its timeout in the lock queue. The first one takes those behind it into its group. */
  async #enqueue(queue: string, part: Part<Request, Outcome>): Promise<void> {
    const waiting = this.#waiting.get(queue) ?? [];
    this.#waiting.set(queue, waiting);
    waiting.push(part);
    await this.#lockQueue.run(queue, LOCK_TIMEOUT_MS, async (remainingMs) => {
      // Otherwise it is part of a group that was written before.
      if (waiting.includes(part)) await this.#writeGroup(this.#takeGroup(waiting), remainingMs);
    });
    if (waiting.includes(part)) {
      waiting.splice(waiting.indexOf(part), 1);
      part.reject(new StoreUnavailableError('too many writes of leads wait for the lock of their company'));
    }
    if (waiting.length === 0 && this.#waiting.get(queue) === waiting) this.#waiting.delete(queue);
  }

  #takeGroup(waiting: Part<Request, Outcome>[]): Part<Request, Outcome>[] {
    return waiting.splice(0, this.#countGroup(waiting.map(({ request }) => request)));
  }

  async #writeGroup(parts: readonly Part<Request, Outcome>[], remainingMs: number): Promise<void> {
    const deadline = performance.now() + remainingMs;
    const attempt = async (group: typeof parts, failure?: unknown) => {
      const lockTimeoutMs = Math.max(1, Math.floor(deadline - performance.now()));
      const outcomes = await this.#write(
        group.map(({ request }) => request),
        { lockTimeoutMs, failure },
      );
      for (const [index, outcome] of outcomes.entries()) group[index]?.resolve(outcome);
    };
    try {
      await attempt(parts);
    } catch (error) {
      const isUnavailable = error instanceof StoreUnavailableError;
      const mayTryAgain = () => isUnavailableForSome(error) && performance.now() < deadline;
      for (const part of parts)
        if (isUnavailable && !mayTryAgain()) part.reject(error);
        else await attempt([part], error).catch(part.reject);
    }
  }
}

/** Two: the next group is prepared while the one before it waits for the disk. */
export const SHARED_QUEUES = 2;

/**
 * Requests of all companies share a few queues, so that companies with one request at a time are written in groups, too. A group of
 * several companies must not wait for a company that another program has locked for long: its requests then have a queue of their own.
 */
export class WriteQueues {
  /** The number of requests in the queue of a company. */
  readonly #own = new Map<string, number>();

  /** `write` returns undefined if it has skipped the company in a shared queue. */
  async write<Outcome>(
    companyId: string,
    mayShare: boolean,
    write: (queue: string, isShared: boolean) => Promise<Outcome | undefined>,
  ): Promise<Outcome> {
    const isShared = mayShare && !this.#own.has(companyId);
    const shared = isShared ? await write(sharedQueue(companyId), true) : undefined;
    if (shared) return shared;
    this.#own.set(companyId, (this.#own.get(companyId) ?? 0) + 1);
    try {
      const outcome = await write(`company ${companyId}`, false);
      if (!outcome) throw new Error('a write that waits for the lock of its company has no outcome');
      return outcome;
    } finally {
      const others = (this.#own.get(companyId) ?? 0) - 1;
      if (others > 0) this.#own.set(companyId, others);
      else this.#own.delete(companyId);
    }
  }
}

/** Always the same for a company, so that its requests do not wait for each other in the database. */
function sharedQueue(companyId: string): string {
  let sum = 0;
  for (const character of companyId) sum += character.codePointAt(0) ?? 0;
  return `shared ${sum % SHARED_QUEUES}`;
}
