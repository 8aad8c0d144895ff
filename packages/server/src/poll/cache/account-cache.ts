import { LRUCache } from 'lru-cache';
import { PROFESSIONAL, type VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import { mayPoll, type PollingUser } from '../../leads/access.ts';
import type {
  Change,
  ChangeListener,
  ChangeSource,
  ChangeTrackingStore,
  Revalidation,
  RevalidationRequest,
} from '../store.ts';
import { type Revalidated, Revalidator } from './revalidator.ts';

/** The account of a request, as of the revalidation that the request has waited for. */
export interface RevalidatedAccount {
  readonly isRevoked: boolean;
  readonly user: PollingUser | undefined;
  readonly revalidation: Revalidated;
}

/** About 100,000 tokens and users with ids of usual length. */
const MAX_ACCOUNT_BYTES = 32 * 1024 * 1024;

const UNKNOWN_ACCOUNT: Account = { isRevoked: false, user: undefined };

/**
 * The accounts of all callers, and the change log. Each request first waits for a revalidation, a query that begins after the
 * request has arrived and returns all changes since the one before it. Listeners invalidate what has changed before the request
 * continues.
 */
export class AccountCache implements ChangeSource {
  readonly #cached: CachedAccounts;
  readonly #revalidator: Revalidator;
  readonly #listeners: ChangeListener[] = [];

  constructor(store: ChangeTrackingStore, maxBytes = MAX_ACCOUNT_BYTES) {
    this.#cached = new CachedAccounts(maxBytes);
    this.#revalidator = new Revalidator(store, (...result) => this.#apply(...result));
  }

  /** The number of revalidations that have begun. */
  get epoch(): number {
    return this.#revalidator.epoch;
  }

  /** Waits for a revalidation, which also reads the account of the token if it is not cached. */
  revalidateFor(token: VerifiedToken): Promise<RevalidatedAccount> {
    const cached = this.#cached.find(token);
    if (!cached) return this.#readAccount(token);
    return this.#revalidator.revalidateCompany(cached.scope.companyId).then((revalidation) =>
      // Still cached after the revalidation: the account has not changed.
      cached.isCurrent ? { isRevoked: false, user: cached.user, revalidation } : this.#readAccount(token),
    );
  }

  async #readAccount(token: VerifiedToken): Promise<RevalidatedAccount> {
    const { revalidation, account = UNKNOWN_ACCOUNT } = await this.#revalidator.revalidateToken(token);
    return { revalidation, ...account };
  }

  async readChanges(): Promise<void> {
    await this.#revalidator.revalidateChanges();
  }

  onChanges(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  #apply({ tokens }: RevalidationRequest, { accounts, changes }: Revalidation): void {
    for (const [index, token] of tokens.entries())
      this.#cached.set(token, accounts[index] ?? UNKNOWN_ACCOUNT);
    // Invalidate after caching: the accounts were read before the changes were, so that an account among them may be stale.
    this.#invalidate(changes);
    if (changes === undefined || changes.length > 0)
      for (const listener of this.#listeners) listener(changes);
  }

  #invalidate(changes: readonly Change[] | undefined): void {
    if (changes === undefined) this.#cached.invalidateAll();
    else
      for (const { kind, id } of changes) {
        if (kind === 'user') this.#cached.invalidateUser(id);
        else if (kind === 'token') this.#cached.invalidateToken(id);
      }
  }
}

/** What a user may see: users of a company with the same plan and access level share one. */
type Scope = Omit<PollingUser, 'id'>;

/** A token that is not revoked, and its user. There are 100,000 of them, so it is small. */
class CachedAccount {
  /** False once the token or the user was invalidated, or the entry evicted. */
  isCurrent = true;
  readonly key: string;
  readonly userId: string;
  readonly scope: Scope;

  constructor(key: string, userId: string, scope: Scope) {
    this.key = key;
    this.userId = userId;
    this.scope = scope;
  }

  get user(): PollingUser {
    const { companyId, plan, accessLevel, branchId, departmentId } = this.scope;
    return { id: this.userId, companyId, plan, accessLevel, branchId, departmentId };
  }
}

/** Users of further scopes have a copy each. */
const MAX_SHARED_SCOPES = 10_000;

/** An LRU cache of tokens with their users. Unknown users and revoked tokens are not cached: they must not evict the others. */
export class CachedAccounts {
  readonly #byToken: LRUCache<string, CachedAccount>;
  readonly #byUser = new Map<string, CachedAccount[]>();
  readonly #scopes = new Map<string, Scope>();

  constructor(maxBytes: number) {
    this.#byToken = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: estimateBytes,
      dispose: (account) => this.#unlink(account),
    });
  }

  find(token: VerifiedToken): CachedAccount | undefined {
    const account = this.#byToken.get(accountKey(token));
    // An identity provider may give the same token id to two users.
    return account?.userId === token.userId ? account : undefined;
  }

  set(token: VerifiedToken, { user, isRevoked }: Account): void {
    const { userId } = token;
    if (isRevoked || user?.id !== userId) return;
    const account = new CachedAccount(accountKey(token), userId, this.#scopeFor(user));
    this.#byToken.set(account.key, account);
    const others = this.#byUser.get(userId);
    if (others) others.push(account);
    else this.#byUser.set(userId, [account]);
  }

  invalidateUser(userId: string): void {
    for (const { key } of this.#byUser.get(userId)?.slice() ?? []) this.#byToken.delete(key);
  }

  invalidateToken(tokenId: string): void {
    this.#byToken.delete(tokenId);
  }

  invalidateAll(): void {
    this.#byToken.clear();
    this.#scopes.clear();
  }

  #unlink(account: CachedAccount): void {
    account.isCurrent = false;
    const accounts = this.#byUser.get(account.userId) ?? [];
    accounts.splice(accounts.indexOf(account), 1);
    if (accounts.length === 0) this.#byUser.delete(account.userId);
  }

  #scopeFor(user: PollingUser): Scope {
    const { companyId, accessLevel, branchId, departmentId } = user;
    const plan = mayPoll(user) ? PROFESSIONAL : user.plan;
    const key = JSON.stringify([companyId, plan, accessLevel, branchId, departmentId]);
    const known = this.#scopes.get(key);
    if (known) return known;
    const scope = { companyId, plan, accessLevel, branchId, departmentId };
    if (this.#scopes.size < MAX_SHARED_SCOPES) this.#scopes.set(key, scope);
    return scope;
  }
}

/** All tokens of a user that have no id share one entry. */
const accountKey = ({ userId, tokenId }: VerifiedToken): string => tokenId ?? `\0${userId}`;

/** About what V8 uses for an entry beside the characters of its strings. */
const OVERHEAD_BYTES = 230;

function estimateBytes({ userId, scope }: CachedAccount, key: string): number {
  const { companyId, branchId, departmentId } = scope;
  const length = key.length + userId.length + companyId.length;
  return OVERHEAD_BYTES + length + (branchId?.length ?? 0) + (departmentId?.length ?? 0);
}
