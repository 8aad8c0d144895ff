import type { VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import { StoreUnavailableError } from '../../sql/errors.ts';
import type { ChangeTrackingStore, Revalidation, RevalidationRequest } from '../store.ts';

/** The result of a revalidation, and its epoch. */
export interface Revalidated extends Revalidation {
  readonly epoch: number;
}

/** Requests that share one revalidation. */
interface Batch {
  readonly companyIds: Set<string>;
  readonly tokens: VerifiedToken[];
  readonly result: Promise<Revalidated>;
  readonly resolve: (revalidation: Revalidated) => void;
  readonly reject: (reason: unknown) => void;
  requests: number;
}

/** Updates the cache with a result. Called before the requests of the batch continue. */
type ApplyRevalidation = (request: RevalidationRequest, revalidation: Revalidation) => void;

/** A batch locks each of its companies at once, and PostgreSQL by default has room for 64 locks per connection. */
const MAX_BATCH_SIZE = 64;
/** Further requests are rejected: a store that hangs must not fill the memory with queued requests. */
const MAX_QUEUED_REQUESTS = 5000;

/**
 * Revalidates the cache: one query at a time, for all requests that arrived before it began. While it runs, later requests join
 * the next batch: the higher the load, the more requests share a query.
 */
export class Revalidator {
  readonly #store: ChangeTrackingStore;
  readonly #apply: ApplyRevalidation;
  readonly #queue: Batch[] = [];
  #isRunning = false;
  #queuedRequests = 0;
  #epoch = 0;
  /** The position in the change log up to which changes were applied to the cache. */
  #seen: string | undefined;

  constructor(store: ChangeTrackingStore, apply: ApplyRevalidation) {
    this.#store = store;
    this.#apply = apply;
  }

  /** The number of revalidations that have begun. What was read by now was read before every revalidation with a larger epoch. */
  get epoch(): number {
    return this.#epoch;
  }

  /** A revalidation that begins after this call and includes this company. */
  revalidateCompany(companyId: string): Promise<Revalidated> {
    const batch = this.#joinBatch();
    batch.companyIds.add(companyId);
    return batch.result;
  }

  /** The same for an account that is not cached: the store finds it and includes its company. */
  async revalidateToken(
    token: VerifiedToken,
  ): Promise<{ readonly revalidation: Revalidated; readonly account: Account | undefined }> {
    const batch = this.#joinBatch();
    const index = batch.tokens.push(token) - 1;
    const revalidation = await batch.result;
    return { revalidation, account: revalidation.accounts[index] };
  }

  /** A revalidation that begins after this call, for its changes alone. */
  async revalidateChanges(): Promise<void> {
    await this.#joinBatch().result;
  }

  #joinBatch(): Batch {
    if (this.#queuedRequests >= MAX_QUEUED_REQUESTS)
      throw new StoreUnavailableError(`${MAX_QUEUED_REQUESTS} requests are already queued for the database`);
    const batch = this.#openBatch();
    this.#queuedRequests += 1;
    batch.requests += 1;
    return batch;
  }

  #openBatch(): Batch {
    const last = this.#queue.at(-1);
    if (last && last.companyIds.size + last.tokens.length < MAX_BATCH_SIZE) return last;
    const batch = createBatch();
    this.#queue.push(batch);
    // The requests that have arrived by now are parsed first, and join the batch.
    setImmediate(() => this.#run());
    return batch;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let batch = this.#queue.shift(); batch; batch = this.#queue.shift()) await this.#revalidate(batch);
    this.#isRunning = false;
  }

  async #revalidate(batch: Batch): Promise<void> {
    const request = { companies: [...batch.companyIds], tokens: batch.tokens };
    this.#epoch += 1;
    const epoch = this.#epoch;
    try {
      const revalidation = { epoch, ...(await this.#store.revalidate(request, this.#seen)) };
      // Applied first: if that fails, the next revalidation has the same changes again.
      this.#apply(request, revalidation);
      this.#seen = revalidation.seen;
      batch.resolve(revalidation);
    } catch (error) {
      batch.reject(error);
    }
    this.#queuedRequests -= batch.requests;
  }
}

function createBatch(): Batch {
  let resolve: Batch['resolve'] = () => undefined;
  let reject: Batch['reject'] = () => undefined;
  const result = new Promise<Revalidated>((...settle) => {
    [resolve, reject] = settle;
  });
  return { companyIds: new Set(), tokens: [], result, resolve, reject, requests: 0 };
}
