import type { Scope, User } from '../records.ts';
import {
  CallerGoneError,
  type ExpectedPoll,
  type Page,
  type PageQuery,
  type PollQuestions,
} from '../store.ts';
import type { Pages, PollReading } from './leads-read.ts';

/**
 * The questions of one poll, answered by one round trip, which the first of them makes. What was not expected is asked
 * from the store.
 */
export class PollSession implements PollQuestions {
  readonly #expected: ExpectedPoll;
  readonly #pages: Pages;
  readonly #store: PollQuestions;
  #reading: Promise<PollReading> | undefined;

  constructor(expected: ExpectedPoll, pages: Pages, store: PollQuestions) {
    this.#expected = expected;
    this.#pages = pages;
    this.#store = store;
  }

  async isTokenRevoked(tokenId: string): Promise<boolean> {
    if (tokenId !== this.#expected.tokenId) return this.#store.isTokenRevoked(tokenId);
    return (await this.#read()).revoked;
  }

  async findUser(userId: string): Promise<User | undefined> {
    if (userId !== this.#expected.userId) return this.#store.findUser(userId);
    return (await this.#read()).user;
  }

  async readPage(query: PageQuery): Promise<Page> {
    const { page: expected, signal } = this.#expected;
    if (query.since !== expected?.since || query.limit !== expected?.limit)
      return this.#pages.readPage(query, { signal });
    const { user, page } = await this.#read();
    if (signal.aborted) throw new CallerGoneError('the caller has gone');
    if (!user || !isPlaceOf(user, query.scope)) return this.#pages.readPage(query, { signal });
    return page ?? this.#pages.waitForPage(query, { signal });
  }

  #read(): Promise<PollReading> {
    this.#reading ??= this.#pages.readPoll(this.#expected);
    return this.#reading;
  }
}

/** Whether the database read for this place: it takes that of the user's level. */
function isPlaceOf(user: User, scope: Scope): boolean {
  if (scope.companyId !== user.companyId || scope.level !== user.accessLevel) return false;
  if (scope.level === 'BRANCH') return scope.branchId === user.branchId;
  return scope.level === 'COMPANY' || scope.departmentId === user.departmentId;
}
