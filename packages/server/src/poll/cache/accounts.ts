import { LRUCache } from 'lru-cache';
import { PROFESSIONAL, type VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import { mayPoll, type PollingUser } from '../../leads/access.ts';

export interface AccountLimits {
  /** Of the tokens with their users. */
  readonly maxAccountBytes: number;
}

/** A token that is not revoked, and its user. */
interface CachedAccount {
  readonly user: PollingUser;
  /** False once the token or the user was invalidated, or the entry evicted. */
  isCurrent: boolean;
}

/**
 * An LRU cache of tokens with their users. Unknown users and revoked tokens are not cached: they must not evict the others.
 */
export class AccountCache {
  readonly #accounts: LRUCache<string, CachedAccount>;
  /** The keys of the cached tokens of each user. */
  readonly #keysOfUser = new Map<string, string[]>();

  constructor({ maxAccountBytes: maxSize }: AccountLimits) {
    this.#accounts = new LRUCache<string, CachedAccount>({
      maxSize,
      sizeCalculation: estimateBytes,
      dispose: (account, key) => this.#forget(account, key),
    });
  }

  find(token: VerifiedToken): CachedAccount | undefined {
    const account = this.#accounts.get(keyOf(token));
    // An identity provider may give the same token id to two users.
    return account?.user.id === token.userId ? account : undefined;
  }

  set(token: VerifiedToken, { user, isRevoked }: Account): void {
    const { userId } = token;
    if (isRevoked || user?.id !== userId) return;
    const key = keyOf(token);
    this.#accounts.set(key, { user: toCachedUser(user, userId), isCurrent: true });
    const keys = this.#keysOfUser.get(userId);
    if (keys) keys.push(key);
    else this.#keysOfUser.set(userId, [key]);
  }

  invalidateUser(userId: string): void {
    const keys = this.#keysOfUser.get(userId) ?? [];
    this.#keysOfUser.delete(userId);
    for (const key of keys) this.#accounts.delete(key);
  }

  invalidateToken(tokenId: string): void {
    this.#accounts.delete(tokenId);
  }

  invalidateAll(): void {
    this.#keysOfUser.clear();
    this.#accounts.clear();
  }

  #forget(account: CachedAccount, key: string): void {
    account.isCurrent = false;
    const { id } = account.user;
    const keys = this.#keysOfUser.get(id);
    if (!keys) return;
    keys.splice(keys.indexOf(key), 1);
    if (keys.length === 0) this.#keysOfUser.delete(id);
  }
}

/** All tokens of a user that have no id share one entry. */
const keyOf = ({ userId, tokenId }: VerifiedToken): string => tokenId ?? `\0${userId}`;

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
const OVERHEAD_BYTES = 280;

function estimateBytes({ user }: CachedAccount, key: string): number {
  const { id, companyId, branchId, departmentId } = user;
  const length = key.length + id.length + companyId.length;
  return OVERHEAD_BYTES + length + (branchId?.length ?? 0) + (departmentId?.length ?? 0);
}
