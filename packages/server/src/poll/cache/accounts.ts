import { PROFESSIONAL, type VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import { GenerationCache } from '../../generation-cache.ts';
import { mayPoll, type PollingUser } from '../../leads/access.ts';

export interface AccountLimits {
  /** Of the tokens with their users that were used last. Those that were used before them take as much again at most. */
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
  /** The account of another token of the user. */
  next: CachedAccount | undefined;

  constructor(key: string, userId: string, place: Place, next: CachedAccount | undefined) {
    this.key = key;
    this.userId = userId;
    this.place = place;
    this.next = next;
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
  readonly #byToken: GenerationCache<CachedAccount>;
  /** The first account of each user. */
  readonly #byUser = new Map<string, CachedAccount>();
  readonly #places = new Map<string, Place>();

  constructor({ maxAccountBytes }: AccountLimits) {
    this.#byToken = new GenerationCache(maxAccountBytes, estimateBytes, (account) => this.#unlink(account));
  }

  find(token: VerifiedToken): CachedAccount | undefined {
    const account = this.#byToken.get(keyOf(token));
    // An identity provider may give the same token id to two users.
    return account?.userId === token.userId ? account : undefined;
  }

  set(token: VerifiedToken, { user, isRevoked }: Account): void {
    const { userId } = token;
    if (isRevoked || user?.id !== userId) return;
    const key = keyOf(token);
    this.invalidateToken(key);
    const account = new CachedAccount(key, userId, this.#placeOf(user), this.#byUser.get(userId));
    this.#byUser.set(userId, account);
    this.#byToken.set(key, account);
  }

  invalidateUser(userId: string): void {
    for (let account = this.#byUser.get(userId); account; account = account.next) {
      account.isCurrent = false;
      this.#byToken.delete(account.key);
    }
    this.#byUser.delete(userId);
  }

  invalidateToken(tokenId: string): void {
    const account = this.#byToken.delete(tokenId);
    if (account) this.#unlink(account);
  }

  invalidateAll(): void {
    for (const userId of this.#byUser.keys()) this.invalidateUser(userId);
    this.#places.clear();
  }

  #unlink(account: CachedAccount): void {
    account.isCurrent = false;
    const { userId, next } = account;
    let previous = this.#byUser.get(userId);
    if (previous !== account) {
      while (previous && previous.next !== account) previous = previous.next;
      if (previous) previous.next = next;
    } else if (next) this.#byUser.set(userId, next);
    else this.#byUser.delete(userId);
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
const OVERHEAD_BYTES = 140;

function estimateBytes({ userId, place }: CachedAccount, key: string): number {
  const { companyId, branchId, departmentId } = place;
  const length = key.length + userId.length + companyId.length;
  return OVERHEAD_BYTES + length + (branchId?.length ?? 0) + (departmentId?.length ?? 0);
}
