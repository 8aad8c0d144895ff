import type { Account, Bearer } from '../../accounts/store.ts';
import { StoreUnavailableError } from '../../store/errors.ts';
import type { ChangeTrackingStore, Revalidation, RevalidationRequest } from '../store.ts';

/** Revalidations are numbered in the order in which their queries begin. */
export interface NumberedRevalidation extends Revalidation {
  readonly revalidationNumber: number;
}

/** The result for a request whose account was not in the cache. */
export interface RevalidationResult {
  readonly revalidation: NumberedRevalidation;
  readonly account: Account | undefined;
}

/** Requests that share one revalidation query. */
interface RevalidationBatch {
  readonly companyIds: Set<string>;
  readonly bearers: Bearer[];
  readonly result: Promise<NumberedRevalidation>;
  readonly resolve: (revalidation: NumberedRevalidation) => void;
  readonly reject: (reason: unknown) => void;
  requests: number;
  /** Results of other batches that arrived while this batch waited for its own. */
  readonly concurrentResults: Revalidation[];
}

/** Updates the cache with a result. Called before the requests of the batch continue. */
export type ApplyRevalidation = (
  request: RevalidationRequest,
  revalidation: Revalidation,
  concurrentResults: readonly Revalidation[],
) => void;

/** A batch locks each of its companies at once, and PostgreSQL by default has room for 64 locks per connection. */
const MAX_BATCH_SIZE = 64;
/** While one result is applied, the next query runs. More of them would only make the batches smaller. */
const MAX_CONCURRENT_REVALIDATIONS = 2;
/** Further requests are rejected: a store that hangs must not fill the memory with queued requests. */
const MAX_QUEUED_REVALIDATIONS = 5000;

/**
 * Batches the requests that arrive in one turn of the event loop, so that one query revalidates the cache for all of them.
 * While queries run, later requests join the next batch: the higher the load, the more requests share a query.
 */
export class RevalidationBatcher {
  readonly #store: ChangeTrackingStore;
  readonly #apply: ApplyRevalidation;
  readonly #queue: RevalidationBatch[] = [];
  readonly #running = new Set<RevalidationBatch>();
  #queued = 0;
  #lastRevalidationNumber = 0;
  /** The position in the change log up to which changes were applied to the cache. */
  #seen: string | undefined;

  constructor(store: ChangeTrackingStore, apply: ApplyRevalidation) {
    this.#store = store;
    this.#apply = apply;
  }

  /** The number of the last revalidation that has begun. What was read by now was read before every revalidation with a larger number. */
  get lastRevalidationNumber(): number {
    return this.#lastRevalidationNumber;
  }

  /** A revalidation that begins after this call and includes this company. */
  revalidateCompany(companyId: string): Promise<NumberedRevalidation> {
    const batch = this.#joinBatch();
    batch.companyIds.add(companyId);
    return batch.result;
  }

  /** The same for an account that is not cached: the store finds it and includes its company. */
  async revalidateToken(token: Bearer): Promise<RevalidationResult> {
    const batch = this.#joinBatch();
    const index = batch.bearers.push(token) - 1;
    const revalidation = await batch.result;
    return { revalidation, account: revalidation.accounts[index] };
  }

  /** A revalidation that begins after this call, for its changes alone. */
  revalidateChanges(): Promise<Revalidation> {
    return this.#joinBatch().result;
  }

  #joinBatch(): RevalidationBatch {
    if (this.#queued >= MAX_QUEUED_REVALIDATIONS)
      throw new StoreUnavailableError(
        `${MAX_QUEUED_REVALIDATIONS} requests are already queued for the database`,
      );
    const batch = this.#openBatch();
    this.#queued += 1;
    batch.requests += 1;
    return batch;
  }

  #openBatch(): RevalidationBatch {
    const last = this.#queue.at(-1);
    if (last && last.companyIds.size + last.bearers.length < MAX_BATCH_SIZE) return last;
    const batch = createBatch();
    this.#queue.push(batch);
    // The requests that have arrived by now are parsed first, and join the batch.
    setImmediate(() => this.#startBatches());
    return batch;
  }

  #startBatches(): void {
    while (this.#running.size < MAX_CONCURRENT_REVALIDATIONS) {
      const batch = this.#queue.shift();
      if (!batch) return;
      this.#running.add(batch);
      void this.#revalidate(batch);
    }
  }

  async #revalidate(batch: RevalidationBatch): Promise<void> {
    const request = { companies: [...batch.companyIds], bearers: batch.bearers };
    this.#lastRevalidationNumber += 1;
    const revalidationNumber = this.#lastRevalidationNumber;
    try {
      const revalidation = { ...(await this.#store.revalidate(request, this.#seen)), revalidationNumber };
      this.#running.delete(batch);
      for (const other of this.#running) other.concurrentResults.push(revalidation);
      this.#seen = revalidation.seen;
      this.#apply(request, revalidation, batch.concurrentResults);
      batch.resolve(revalidation);
    } catch (error) {
      this.#running.delete(batch);
      batch.reject(error);
    }
    this.#queued -= batch.requests;
    this.#startBatches();
  }
}

function createBatch(): RevalidationBatch {
  let resolve: RevalidationBatch['resolve'] = () => undefined;
  let reject: RevalidationBatch['reject'] = () => undefined;
  const result = new Promise<NumberedRevalidation>((...settle) => {
    [resolve, reject] = settle;
  });
  return { companyIds: new Set(), bearers: [], result, resolve, reject, requests: 0, concurrentResults: [] };
}
