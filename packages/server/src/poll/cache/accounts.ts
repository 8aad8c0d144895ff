import { LRUCache } from 'lru-cache';
import { PROFESSIONAL, type VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import { mayPoll, type PollingUser } from '../../leads/access.ts';

export interface AccountLimits {
  /** Of the tokens with their users that were used last. */
  readonly maxAccountBytes: number;
}

/** What the users of a company with the same plan and access level have in common. */
type Place = Omit<PollingUser, 'id'>;

/** A token that is not revoked, and its user. There are 100,000 of them, so it is small. */
class CachedAccount {
  /** False once the token or the user was invalidated, or the entry evicted. */
  isCurrent = true;
  readonly key: string;
  readonly userId: string;
  readonly place: Place;

  constructor(key: string, userId: string, place: Place) {
    this.key = key;
    this.userId = userId;
    this.place = place;
  }

  get user(): PollingUser {
    const { companyId, plan, accessLevel, branchId, departmentId } = this.place;
    return { id: this.userId, companyId, plan, accessLevel, branchId, departmentId };
  }
}

/** Users of further places have a copy each. */
const MAX_SHARED_PLACES = 10_000;

/** A cache of tokens with their users. Unknown users and revoked tokens are not cached: they must not evict the others. */
export class AccountCache {
  readonly #byToken: LRUCache<string, CachedAccount>;
  readonly #byUser = new Map<string, CachedAccount[]>();
  readonly #places = new Map<string, Place>();

  constructor({ maxAccountBytes }: AccountLimits) {
    this.#byToken = new LRUCache({
      maxSize: maxAccountBytes,
      sizeCalculation: estimateBytes,
      dispose: (account) => this.#unlink(account),
    });
  }

  find(token: VerifiedToken): CachedAccount | undefined {
    const account = this.#byToken.get(keyOf(token));
    // An identity provider may give the same token id to two users.
    return account?.userId === token.userId ? account : undefined;
  }

  set(token: VerifiedToken, { user, isRevoked }: Account): void {
    const { userId } = token;
    if (isRevoked || user?.id !== userId) return;
    const account = new CachedAccount(keyOf(token), userId, this.#placeOf(user));
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
    this.#places.clear();
  }

  #unlink(account: CachedAccount): void {
    account.isCurrent = false;
    const accounts = this.#byUser.get(account.userId) ?? [];
    accounts.splice(accounts.indexOf(account), 1);
    if (accounts.length === 0) this.#byUser.delete(account.userId);
  }

  #placeOf(user: PollingUser): Place {
    const { companyId, accessLevel, branchId, departmentId } = user;
    const plan = mayPoll(user) ? PROFESSIONAL : user.plan;
    const key = JSON.stringify([companyId, plan, accessLevel, branchId, departmentId]);
    const known = this.#places.get(key);
    if (known) return known;
    const place = { companyId, plan, accessLevel, branchId, departmentId };
    if (this.#places.size < MAX_SHARED_PLACES) this.#places.set(key, place);
    return place;
  }
}

/** All tokens of a user that have no id share one entry. */
const keyOf = ({ userId, tokenId }: VerifiedToken): string => tokenId ?? `\0${userId}`;

/** About what V8 uses for an entry beside the characters of its strings. */
const OVERHEAD_BYTES = 230;

function estimateBytes({ userId, place }: CachedAccount, key: string): number {
  const { companyId, branchId, departmentId } = place;
  const length = key.length + userId.length + companyId.length;
  return OVERHEAD_BYTES + length + (branchId?.length ?? 0) + (departmentId?.length ?? 0);
}
