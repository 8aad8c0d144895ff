import type { VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import type { PollingUser } from '../../leads/access.ts';
import { andThen } from '../../lib/event-loop.ts';
import { type PollReader, type RenderedPage, readRendered } from '../pages.ts';
import type {
  Change,
  ChangeListener,
  ChangeSource,
  PageQuery,
  PollStore,
  Revalidation,
  RevalidationRequest,
} from '../store.ts';
import { AccountCache, type AccountLimits } from './accounts.ts';
import { FeedCache, type FeedPage } from './feed-cache.ts';
import { type Revalidated, Revalidator } from './revalidator.ts';

export interface CacheLimits extends AccountLimits {
  /** Of the rendered leads. */
  readonly maxFeedBytes: number;
}

const MIB = 1024 * 1024;

const CACHE_LIMITS: CacheLimits = {
  /** About 100,000 tokens and users with ids of usual length. */
  maxAccountBytes: 32 * MIB,
  maxFeedBytes: 16 * MIB,
};

const UNKNOWN_ACCOUNT: Account = { isRevoked: false, user: undefined };

/**
 * Caches users, token ids and rendered leads. No poll is answered with stale data: each poll first waits for a revalidation,
 * a query that begins after the poll has arrived and returns all changes since the one before it. Whatever has changed is
 * invalidated before the poll continues. Entries that were not used for longest are evicted, so the cache is bounded.
 */
export class PollCache implements ChangeSource {
  readonly #store: PollStore;
  readonly #accounts: AccountCache;
  readonly #feeds: FeedCache;
  readonly #revalidator: Revalidator;
  readonly #listeners: ChangeListener[] = [];

  constructor(store: PollStore, limits: CacheLimits = CACHE_LIMITS) {
    const { changeTracking } = store;
    this.#store = store;
    this.#accounts = new AccountCache(limits);
    this.#revalidator = new Revalidator(changeTracking, (...result) => this.#apply(...result));
    this.#feeds = new FeedCache(changeTracking, limits.maxFeedBytes, this.#revalidator);
  }

  /** Waits for the query that revalidates the cache and, if the account of the token is not cached, reads it. Then the poll can read. */
  revalidateFor(token: VerifiedToken): Promise<PollReader> {
    const cached = this.#accounts.find(token);
    if (!cached) return this.#readAccount(token);
    return this.#revalidator.revalidateCompany(cached.place.companyId).then((revalidation) =>
      // Still cached after the revalidation: the account has not changed.
      cached.isCurrent
        ? new CachedReader(this.#store, this.#feeds, cached, revalidation)
        : this.#readAccount(token),
    );
  }

  async #readAccount(token: VerifiedToken): Promise<PollReader> {
    const { revalidation, account = UNKNOWN_ACCOUNT } = await this.#revalidator.revalidateToken(token);
    return new CachedReader(this.#store, this.#feeds, account, revalidation);
  }

  async readChanges(): Promise<void> {
    await this.#revalidator.revalidateChanges();
  }

  onChanges(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  #apply({ tokens }: RevalidationRequest, { accounts, changes }: Revalidation): void {
    for (const [index, token] of tokens.entries())
      this.#accounts.set(token, accounts[index] ?? UNKNOWN_ACCOUNT);
    // Invalidate after caching: the accounts were read before the changes were, so that an account among them may be stale.
    this.#invalidate(changes);
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

/** What is known of a token and its user. Only tokens that are not revoked are cached. */
interface KnownAccount {
  readonly isRevoked?: boolean;
  readonly user: PollingUser | undefined;
}

/** The reads of one poll, after the revalidation that it has waited for. */
class CachedReader implements PollReader {
  readonly #store: PollStore;
  readonly #feeds: FeedCache;
  readonly #account: KnownAccount;
  readonly #revalidation: Revalidated;

  constructor(store: PollStore, feeds: FeedCache, account: KnownAccount, revalidation: Revalidated) {
    this.#store = store;
    this.#feeds = feeds;
    this.#account = account;
    this.#revalidation = revalidation;
  }

  isTokenRevoked(): boolean {
    return this.#account.isRevoked ?? false;
  }

  findUser(): PollingUser | undefined {
    return this.#account.user;
  }

  readPage(query: PageQuery, disconnectSignal: () => AbortSignal): RenderedPage | Promise<RenderedPage> {
    const readUnderLock = () => readRendered(this.#store, query, disconnectSignal());
    // A transaction is writing leads of this company. The store waits for it, the cache cannot.
    if (this.#isBusy(query)) return readUnderLock();
    return andThen(this.#feeds.readPage(query), (page) =>
      // `Link` of this page continues from the company's last stamp, which only the store can read together with the page.
      page.leads.count === 0 && query.since === undefined ? readUnderLock() : this.#toRendered(page),
    );
  }

  /**
   * While a transaction is writing leads of the company, the time of the read is that of the newest lead: leads that are not yet
   * committed get later stamps.
   */
  async readCommitted(query: PageQuery): Promise<RenderedPage> {
    const page = this.#toRendered(await this.#feeds.readPage(query));
    if (!this.#isBusy(query)) return page;
    return { ...page, readAt: Math.min(page.readAt, page.leads.last ?? query.since ?? 0) };
  }

  #isBusy({ scope }: PageQuery): boolean {
    return this.#revalidation.busy.has(scope.companyId);
  }

  #toRendered({ leads, epoch }: FeedPage): RenderedPage {
    const { readAt, epoch: current } = this.#revalidation;
    return { leads, readAt, locked: true, isOlderThanAccount: epoch < current };
  }
}
