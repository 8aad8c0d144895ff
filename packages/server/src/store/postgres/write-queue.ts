import { setImmediate as nextTurn } from 'node:timers/promises';
import { idInCompany } from '../../accounts/records.ts';
import type { WriteAllOutcome } from '../../intake/store.ts';
import type { WriteRequest } from '../../intake/write-all.ts';
import { StoreUnavailableError } from '../../sql/errors.ts';
import { type Database, LOCK_TIMEOUT_MS } from './connection.ts';
import { isUnavailableForSome, violatedConstraint } from './errors.ts';
import { type GroupOutcome, type WriteMode, writeGroup } from './leads-write.ts';
import { LockQueue } from './lock-queue.ts';

/** Further requests fail at once, so that a database that hangs does not fill the memory. */
const MAX_QUEUED_WRITES = 1000;
/** A request with more of them would delay other companies. */
const MAX_SHARED_LEADS = 10;
/** How long a group of several companies waits for any lock. */
const SHARED_LOCK_TIMEOUT_MS = 50;
/** A longer transaction would delay polls of its companies, and gain little. */
const MAX_LEADS_IN_GROUP = 100;

interface PendingRequest {
  readonly request: WriteRequest;
  readonly resolve: (outcome: GroupOutcome) => void;
  readonly reject: (reason: unknown) => void;
}

/** Its groups are written one after the other. */
class RequestQueue {
  readonly name: string;
  readonly lockQueue: LockQueue;
  /** Whether it has requests of several companies. */
  readonly isShared: boolean;
  /** In the order of arrival. */
  readonly pending: PendingRequest[] = [];
  /** Pending requests, and those that are being written. Only counted if the queue is of one company. */
  unfinished = 0;

  constructor(name: string, lockQueue: LockQueue, isShared: boolean) {
    this.name = name;
    this.lockQueue = lockQueue;
    this.isShared = isShared;
  }
}

/**
 * The requests that wait in a queue are written in one transaction: a commit waits for the disk, and each statement for the network.
 * Requests of all companies share a few queues, so that companies with one request at a time are written in groups, too. A group of
 * several companies must not wait for a company that another program has locked for long: its requests then have a queue of their own.
 */
export class WriteQueue {
  readonly #database: Database;
  /** Two: the next group is prepared while the one before it waits for the disk. */
  readonly #sharedQueues: readonly [RequestQueue, RequestQueue];
  readonly #companyQueues = new Map<string, RequestQueue>();
  readonly #companyLocks: LockQueue;

  constructor(database: Database) {
    this.#database = database;
    // Less than half of the connections: as many as half may wait for polls.
    const connections = Math.ceil(database.connections / 2) - 1;
    // Writes that wait for companies that are locked for long must not occupy the connections of the others, or fill their queue.
    const sharedLocks = new LockQueue(connections > 1 ? 2 : 1, MAX_QUEUED_WRITES);
    this.#companyLocks = new LockQueue(Math.max(1, connections - 1), MAX_QUEUED_WRITES);
    this.#sharedQueues = [
      new RequestQueue('shared 0', sharedLocks, true),
      new RequestQueue('shared 1', sharedLocks, true),
    ];
  }

  async enqueue(request: WriteRequest): Promise<WriteAllOutcome> {
    const { companyId } = request.scope;
    if (request.leads.length === 0) return { kind: 'written', results: [] };
    if (request.leads.length <= MAX_SHARED_LEADS && !this.#companyQueues.has(companyId)) {
      const outcome = await this.#add(this.#sharedQueueOf(companyId), request);
      if (outcome.kind !== 'company-busy') return outcome;
    }
    const queue =
      this.#companyQueues.get(companyId) ?? new RequestQueue(companyId, this.#companyLocks, false);
    this.#companyQueues.set(companyId, queue);
    queue.unfinished += 1;
    try {
      const outcome = await this.#add(queue, request);
      if (outcome.kind === 'company-busy')
        throw new Error('a write skipped a company whose lock it waits for');
      return outcome;
    } finally {
      queue.unfinished -= 1;
      if (queue.unfinished === 0) this.#companyQueues.delete(companyId);
    }
  }

  /** Always the same for a company, so that its requests do not wait for each other in the database. */
  #sharedQueueOf(companyId: string): RequestQueue {
    let sum = 0;
    for (const character of companyId) sum += character.codePointAt(0) ?? 0;
    return this.#sharedQueues[sum % 2 === 0 ? 0 : 1];
  }

  #add(queue: RequestQueue, request: WriteRequest): Promise<GroupOutcome> {
    return new Promise((resolve, reject) => {
      const pending = { request, resolve, reject };
      queue.pending.push(pending);
      void this.#waitForTurn(queue, pending);
    });
  }

  /** Every request has its turn and its timeout in the lock queue. The first one takes those behind it into its group. */
  async #waitForTurn(queue: RequestQueue, pending: PendingRequest): Promise<void> {
    await queue.lockQueue.run(queue.name, LOCK_TIMEOUT_MS, async (remainingMs) => {
      const deadline = performance.now() + remainingMs;
      // It is part of a group that was written before.
      if (!queue.pending.includes(pending)) return;
      // Requests that arrive in the same turn of the event loop join its group.
      await nextTurn();
      await this.#writeNext(queue, deadline);
    });
    if (!queue.pending.includes(pending)) return;
    queue.pending.splice(queue.pending.indexOf(pending), 1);
    pending.reject(new StoreUnavailableError('too many writes of leads wait for the lock of their company'));
  }

  /** None is acknowledged before the commit. If the transaction fails, each request is written alone. */
  async #writeNext(queue: RequestQueue, deadline: number): Promise<void> {
    const group = queue.pending.splice(0, countGroup(queue.pending));
    try {
      await this.#write(queue, group, deadline, 'together');
    } catch (error) {
      const isUnavailable = error instanceof StoreUnavailableError;
      const mode = violatedConstraint(error) === undefined ? 'alone' : 'lead-by-lead';
      for (const pending of group) {
        const mayTryAgain = !isUnavailable || (isUnavailableForSome(error) && performance.now() < deadline);
        if (mayTryAgain) await this.#write(queue, [pending], deadline, mode).catch(pending.reject);
        else pending.reject(error);
      }
    }
  }

  async #write(
    { isShared }: RequestQueue,
    group: readonly PendingRequest[],
    deadline: number,
    mode: WriteMode,
  ): Promise<void> {
    const remainingMs = Math.max(1, Math.floor(deadline - performance.now()));
    const outcomes = await writeGroup(
      this.#database,
      group.map(({ request }) => request),
      {
        mode,
        skipsBusyCompanies: isShared,
        lockTimeoutMs: isShared ? Math.min(remainingMs, SHARED_LOCK_TIMEOUT_MS) : remainingMs,
      },
    );
    for (const [index, outcome] of outcomes.entries()) group[index]?.resolve(outcome);
  }
}

/**
 * How many of the first requests can share a transaction; at least one. Requests with the same id or key come one after the other:
 * the second one depends on what the first one has written.
 */
function countGroup(pending: readonly PendingRequest[]): number {
  let leadCount = 0;
  const used = new Set<string>();
  const end = pending.findIndex(({ request: { leads, idempotency } }, index) => {
    const names = [
      ...leads.flatMap(({ companyId, id }) => (id === undefined ? [] : idInCompany(companyId, id))),
      ...(idempotency ? [idempotency.keyHash] : []),
    ];
    leadCount += leads.length;
    if (index > 0 && (leadCount > MAX_LEADS_IN_GROUP || names.some((name) => used.has(name)))) return true;
    for (const name of names) used.add(name);
    return false;
  });
  return end === -1 ? pending.length : end;
}
