import type { Account, Bearer } from '../../accounts/store.ts';
import type { PollingUser } from '../../leads/access.ts';
import { createStoreReader, type PollReader } from '../pages.ts';
import type { Change, ChangeTrackingStore, PollStore, Revalidation, RevalidationRequest } from '../store.ts';
import { AccountCache, type AccountLimits } from './account-cache.ts';
import { CachedReader } from './cached-reader.ts';
import type { ChangeListener, ChangeSource } from './change-source.ts';
import { FeedCache } from './feed-cache.ts';
import { type NumberedRevalidation, RevalidationBatcher } from './revalidation-batcher.ts';

export interface CacheLimits extends AccountLimits {
  /** Of the rendered leads. */
  readonly maxFeedBytes: number;
}

const MIB = 1024 * 1024;

/** About 100,000 tokens and users with ids of usual length. With a limit of entries, `lru-cache` would allocate all of them at the start. */
const CACHE_LIMITS: CacheLimits = {
  maxAccountBytes: 35 * MIB,
  maxFeedBytes: 16 * MIB,
};

export interface PollReaders {
  /** Waits for the query that revalidates the cache and, if the account of the token is not cached, reads it. Then the poll can read. */
  readonly revalidateFor: (token: Bearer) => PollReader | Promise<PollReader>;
  /** Absent if the store does not track changes: no poll can then be held for one. */
  readonly changes?: ChangeSource;
}

/** Reads through the cache where the store tracks changes; without that nothing can be cached, and each poll queries the store. */
export function createReaders(store: PollStore): PollReaders {
  if (!store.changeTracking) return { revalidateFor: (token) => createStoreReader(store, token) };
  const cache = new PollCache(store, store.changeTracking);
  return { revalidateFor: (token) => cache.revalidateFor(token), changes: cache };
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
  readonly #listeners: ChangeListener[] = [];

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

  async revalidateFor(token: Bearer): Promise<PollReader> {
    const cached = this.#accounts.find(token);
    if (cached) {
      const revalidation = await this.#batcher.revalidateCompany(cached.user.companyId);
      // Still cached after the revalidation: the account has not changed.
      if (cached.isCurrent) return this.#toReader(cached.user, false, revalidation);
    }
    const { revalidation, account = UNKNOWN_ACCOUNT } = await this.#batcher.revalidateToken(token);
    return this.#toReader(account.user, account.isRevoked, revalidation);
  }

  async readChanges(): Promise<void> {
    await this.#batcher.revalidateChanges();
  }

  onChanges(listener: ChangeListener): void {
    this.#listeners.push(listener);
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
    for (const [index, token] of bearers.entries())
      this.#accounts.set(token, accounts[index] ?? UNKNOWN_ACCOUNT);
    // Invalidate after caching: the accounts were read before the changes were, and possibly before those that concurrent
    // revalidations have returned, so that an account among these changes may be stale.
    this.#invalidate(changes);
    for (const other of concurrentResults) this.#invalidate(other.changes);
    if (changes === undefined || changes.length > 0)
      for (const listener of this.#listeners) listener(changes);
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
