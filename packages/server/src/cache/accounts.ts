import type { User } from '../store/records.ts';
import type { Account, Bearer } from '../store/store.ts';
import { Recent } from './lru.ts';

/** Who was seen lately: users, and tokens that are not revoked. Bad news is not remembered; it is asked about each time. */
export class Accounts {
  readonly #users: Recent<User>;
  readonly #tokens: Recent<true>;
  /** How often something was forgotten: as long as this is the same, what was found is still true. */
  forgotten = 0;

  constructor(most: number) {
    this.#users = new Recent(most);
    this.#tokens = new Recent(most);
  }

  find({ userId, tokenId }: Bearer): User | undefined {
    const user = this.#users.get(userId);
    return tokenId === undefined || this.#tokens.get(tokenId) ? user : undefined;
  }

  learn({ userId, tokenId }: Bearer, { user, isRevoked }: Account): void {
    if (isRevoked || !user) return;
    this.#users.set(userId, user);
    if (tokenId !== undefined) this.#tokens.set(tokenId, true);
  }

  forgetUser(userId: string): void {
    this.forgotten += 1;
    this.#users.delete(userId);
  }

  forgetToken(tokenId: string): void {
    this.forgotten += 1;
    this.#tokens.delete(tokenId);
  }

  forgetAll(): void {
    this.forgotten += 1;
    this.#users.clear();
    this.#tokens.clear();
  }
}
