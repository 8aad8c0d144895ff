import type { PollingUser } from '../leads/access.ts';
import { createStoreReader, type PollReader } from '../leads/poll.ts';
import type {
  Account,
  Bearer,
  Change,
  ChangeTrackingStore,
  PollStore,
  Revalidation,
  RevalidationRequest,
} from '../store/store.ts';
import { AccountCache, type AccountLimits } from './account-cache.ts';
import { CachedReader } from './cached-reader.ts';
import { FeedCache } from './feed-cache.ts';
import type { ChangeSource } from './held-polls.ts';
import { type NumberedRevalidation, RevalidationBatcher } from './revalidation-batcher.ts';

export interface CacheLimits extends AccountLimits {
  /** Of the rendered leads. */
  readonly maxFeedBytes: number;
}

const MIB = 1024 * 1024;

/** About 100,000 tokens and users with ids of usual length. With a limit of entries, `lru-cache` would allocate all of them at the start. */
export const CACHE_LIMITS: CacheLimits = {
  maxAccountBytes: 35 * MIB,
  maxFeedBytes: 16 * MIB,
};

export type CreateReader = (bearer: Bearer) => PollReader | Promise<PollReader>;

export interface PollReaders {
  readonly createReader: CreateReader;
  /** Absent if the store does not track changes: no poll can then be held for one. */
  readonly changes?: ChangeSource;
}

/** Reads through the cache where the store tracks changes; without that nothing can be cached, and each poll queries the store. */
export function createReaders(store: PollStore): PollReaders {
  if (!store.changeTracking) return { createReader: (bearer) => createStoreReader(store, bearer) };
  const cache = new PollCache(store, store.changeTracking);
  return { createReader: (bearer) => cache.createReader(bearer), changes: cache };
}

const UNKNOWN_ACCOUNT: Account = { isRevoked: false, user: undefined };

/**
 * Caches users, token ids and rendered leads. No poll is answered with stale data: each poll first waits for a revalidation,
 * a query that begins after the poll has arrived and returns all changes since the one before it. Whatever has changed is
 * invalidated before the poll continues. Entries are evicted by LRU, so the cache is bounded.
 */
export class PollCache implements ChangeSource {
  readonly #store: PollStore;
  readonly #accounts: AccountCache;
  readonly #feeds: FeedCache;
  readonly #batcher: RevalidationBatcher;
  #reportChanges: (changes: readonly Change[] | undefined) => void = () => undefined;

  constructor(store: PollStore, changeTracking: ChangeTrackingStore, limits: CacheLimits = CACHE_LIMITS) {
    this.#store = store;
    this.#accounts = new AccountCache(limits);
    this.#batcher = new RevalidationBatcher(changeTracking, (...result) => this.#apply(...result));
    this.#feeds = new FeedCache(
      changeTracking,
      limits.maxFeedBytes,
      () => this.#batcher.lastRevalidationNumber,
    );
  }

  async createReader(bearer: Bearer): Promise<PollReader> {
    const cached = this.#accounts.find(bearer);
    if (cached) {
      const revalidation = await this.#batcher.revalidateCompany(cached.user.companyId);
      // Still cached after the revalidation: the account has not changed.
      if (cached.isCurrent) return this.#toReader(cached.user, false, revalidation);
    }
    const { revalidation, account = UNKNOWN_ACCOUNT } = await this.#batcher.revalidateBearer(bearer);
    return this.#toReader(account.user, account.isRevoked, revalidation);
  }

  revalidate(): Promise<Revalidation> {
    return this.#batcher.revalidateChanges();
  }

  onChanges(listener: (changes: readonly Change[] | undefined) => void): void {
    this.#reportChanges = listener;
  }

  #toReader(
    user: PollingUser | undefined,
    isRevoked: boolean,
    revalidation: NumberedRevalidation,
  ): PollReader {
    return new CachedReader({ store: this.#store, feeds: this.#feeds, user, isRevoked, revalidation });
  }

  #apply(
    { bearers }: RevalidationRequest,
    { accounts, changes }: Revalidation,
    concurrentResults: readonly Revalidation[],
  ): void {
    for (const [index, bearer] of bearers.entries())
      this.#accounts.set(bearer, accounts[index] ?? UNKNOWN_ACCOUNT);
    // Invalidate after caching: the accounts were read before the changes were, and possibly before those that concurrent
    // revalidations have returned, so that an account among these changes may be stale.
    this.#invalidate(changes);
    for (const other of concurrentResults) this.#invalidate(other.changes);
    if (changes === undefined || changes.length > 0) this.#reportChanges(changes);
  }

  #invalidate(changes: readonly Change[] | undefined): void {
    if (changes) {
      for (const { kind, id } of changes) this.#invalidateOne[kind](id);
    } else {
      this.#accounts.invalidateAll();
      this.#feeds.invalidateAll();
    }
  }

  readonly #invalidateOne: Readonly<Record<Change['kind'], (id: string) => void>> = {
    'leads-appended': (id) => this.#feeds.markStale(id),
    company: (id) => this.#feeds.invalidateCompany(id),
    user: (id) => this.#accounts.invalidateUser(id),
    token: (id) => this.#accounts.invalidateToken(id),
  };
}
