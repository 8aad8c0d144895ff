import { LRUCache } from 'lru-cache';
import { mayPoll, type PollingUser, PROFESSIONAL } from '../leads/access.ts';
import { createStoreReader, type PollReader, type RenderedPage, readRendered } from '../leads/poll.ts';
import type {
  Account,
  Bearer,
  Change,
  ChangeTrackingStore,
  PageQuery,
  PollStore,
  Revalidation,
  RevalidationRequest,
} from '../store/store.ts';
import { FeedCache } from './feed-cache.ts';
import type { ChangeSource } from './held-polls.ts';
import { type NumberedRevalidation, RevalidationBatcher } from './revalidation-batcher.ts';

export interface CacheLimits {
  /** Of the users, and as many again of the token ids. */
  readonly maxAccountBytes: number;
  /** Of the rendered leads. */
  readonly maxFeedBytes: number;
}

const MIB = 1024 * 1024;

/** About 100,000 users with ids of usual length. With a limit of entries, `lru-cache` would allocate all of them at the start. */
export const CACHE_LIMITS: CacheLimits = {
  maxAccountBytes: 25 * MIB,
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
    this.#feeds = new FeedCache(changeTracking, limits.maxFeedBytes, () => this.#batcher.lastNumber);
  }

  async createReader(bearer: Bearer): Promise<PollReader> {
    const user = this.#accounts.find(bearer);
    if (user) {
      const revalidation = await this.#batcher.revalidateCompany(user.companyId);
      // Still the cached object after the revalidation: the account has not changed.
      if (this.#accounts.hasKept(bearer, user)) return this.#toReader(user, false, revalidation);
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
    return {
      isTokenRevoked: () => isRevoked,
      findUser: () => user,
      readPage: (query, disconnectSignal) => this.#readPage(query, revalidation, disconnectSignal),
      readCommitted: (query) => this.#readCommitted(query, revalidation),
    };
  }

  async #readPage(
    query: PageQuery,
    { busy, readAt, number }: NumberedRevalidation,
    disconnectSignal: () => AbortSignal,
  ): Promise<RenderedPage> {
    // A transaction is writing leads of this company. The store waits for it, the cache cannot.
    if (busy.has(query.scope.companyId)) return readRendered(this.#store, query, disconnectSignal());
    const { leads, readNumber } = await this.#feeds.readPage(query);
    // `Link` of this page continues from the company's last stamp, which only the store can read together with the page.
    if (leads.count === 0 && query.since === undefined)
      return readRendered(this.#store, query, disconnectSignal());
    return { leads, readAt, locked: true, isOlderThanAccount: readNumber < number };
  }

  /**
   * While a transaction is writing leads of the company, the time of the read is that of the newest lead: leads that are not yet
   * committed get later stamps.
   */
  async #readCommitted(
    query: PageQuery,
    { busy, readAt, number }: NumberedRevalidation,
  ): Promise<RenderedPage> {
    const { leads, readNumber } = await this.#feeds.readPage(query);
    const isOlderThanAccount = readNumber < number;
    if (!busy.has(query.scope.companyId)) return { leads, readAt, locked: true, isOlderThanAccount };
    const committedAt = Math.min(readAt, leads.last ?? query.since ?? 0);
    return { leads, readAt: committedAt, locked: true, isOlderThanAccount };
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

/**
 * An LRU cache of users and of token ids that are not revoked. Unknown users and revoked tokens are not cached: they must not
 * evict the others.
 */
class AccountCache {
  readonly #users: LRUCache<string, PollingUser>;
  readonly #tokens: LRUCache<string, true>;

  constructor({ maxAccountBytes: maxSize }: CacheLimits) {
    this.#users = new LRUCache<string, PollingUser>({ maxSize, sizeCalculation: estimateUserBytes });
    this.#tokens = new LRUCache<string, true>({ maxSize, sizeCalculation: estimateTokenBytes });
  }

  /** The user, if the token is cached as well. */
  find({ userId, tokenId }: Bearer): PollingUser | undefined {
    const user = this.#users.get(userId);
    return tokenId === undefined || this.#tokens.get(tokenId) ? user : undefined;
  }

  /** Whether neither the user nor the token was invalidated since `find`. */
  hasKept({ userId, tokenId }: Bearer, user: PollingUser): boolean {
    return this.#users.peek(userId) === user && (tokenId === undefined || this.#tokens.has(tokenId));
  }

  set({ userId, tokenId }: Bearer, { user, isRevoked }: Account): void {
    if (isRevoked || user?.id !== userId) return;
    this.#users.set(userId, toCachedUser(user, userId));
    if (tokenId !== undefined) this.#tokens.set(tokenId, true);
  }

  invalidateUser(userId: string): void {
    this.#users.delete(userId);
  }

  invalidateToken(tokenId: string): void {
    this.#tokens.delete(tokenId);
  }

  invalidateAll(): void {
    this.#users.clear();
    this.#tokens.clear();
  }
}

/** A copy without name and e-mail address, and with strings that are in memory already: 25 instead of 43 MB for 100,000 users. */
const toCachedUser = (user: PollingUser, id: string): PollingUser => ({
  id,
  companyId: user.companyId,
  plan: mayPoll(user) ? PROFESSIONAL : user.plan,
  accessLevel: user.accessLevel,
  branchId: user.branchId,
  departmentId: user.departmentId,
});

/** About what V8 and the LRU cache use for an entry beside the characters of its strings. */
const USER_OVERHEAD_BYTES = 200;
const TOKEN_OVERHEAD_BYTES = 80;

const estimateUserBytes = (user: PollingUser): number =>
  Object.values(user).reduce((bytes, text) => bytes + (text?.length ?? 0), USER_OVERHEAD_BYTES);

const estimateTokenBytes = (_isKnown: true, tokenId: string): number => TOKEN_OVERHEAD_BYTES + tokenId.length;
