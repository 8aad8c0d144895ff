import { type PollReader, type RenderedPage, readRendered } from '../leads/poll.ts';
import type { RenderedLeads } from '../leads/render.ts';
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
import { Accounts } from './accounts.ts';
import { Feeds } from './feeds.ts';
import { RevalidationBatcher } from './revalidation.ts';

export interface CacheLimits {
  /** Users, and as many tokens. */
  readonly mostAccounts: number;
  /** Of rendered leads. */
  readonly mostBytes: number;
}

export const CACHE_LIMITS: CacheLimits = { mostAccounts: 16_384, mostBytes: 16 * 1024 * 1024 };

const NOBODY: Account = { isRevoked: false, user: undefined };

/**
 * Answers polls from what this process has read before. Nothing in here is out of date when it is used: each poll waits for
 * a look at the store that began after the poll arrived, and what that look says has changed is forgotten first.
 */
export class PollCache {
  readonly #store: PollStore;
  readonly #accounts: Accounts;
  readonly #feeds: Feeds;
  readonly #turns: RevalidationBatcher;

  constructor(store: PollStore, changeTracking: ChangeTrackingStore, limits: CacheLimits = CACHE_LIMITS) {
    this.#store = store;
    this.#accounts = new Accounts(limits.mostAccounts);
    this.#feeds = new Feeds(changeTracking, limits.mostBytes);
    this.#turns = new RevalidationBatcher(changeTracking, (...told) => this.#learn(...told));
  }

  async answers(bearer: Bearer): Promise<PollReader> {
    const { forgotten } = this.#accounts;
    const user = this.#accounts.find(bearer);
    if (user) {
      const revalidation = await this.#turns.lookAt(user.companyId);
      // Still remembered after the look: nothing has happened to it.
      if (this.#accounts.forgotten === forgotten || this.#accounts.find(bearer) === user)
        return this.#knowing({ isRevoked: false, user }, revalidation);
    }
    const { revalidation, account = NOBODY } = await this.#turns.askAbout(bearer);
    return this.#knowing(account, revalidation);
  }

  #knowing({ isRevoked, user }: Account, revalidation: Revalidation): PollReader {
    return {
      isTokenRevoked: () => isRevoked,
      findUser: () => user,
      readPage: (query, disconnectSignal) => this.#readPage(query, revalidation, disconnectSignal),
    };
  }

  #readPage(
    query: PageQuery,
    { busy, readAt }: Revalidation,
    disconnectSignal: () => AbortSignal,
  ): RenderedPage | Promise<RenderedPage> {
    // Somebody is writing, and the store knows how to wait for that.
    if (busy.has(query.scope.companyId)) return readRendered(this.#store, query, disconnectSignal());
    const toPage = (leads: RenderedLeads): RenderedPage | Promise<RenderedPage> =>
      // The link needs the last stamp of the company, which only the store can read together with the page.
      leads.count === 0 && query.since === undefined
        ? readRendered(this.#store, query, disconnectSignal())
        : { leads, readAt, locked: true };
    const leads = this.#feeds.page(query);
    return leads instanceof Promise ? leads.then(toPage) : toPage(leads);
  }

  #learn(
    { bearers }: RevalidationRequest,
    { accounts, changes }: Revalidation,
    concurrentResults: readonly Revalidation[],
  ): void {
    for (const [index, bearer] of bearers.entries()) this.#accounts.learn(bearer, accounts[index] ?? NOBODY);
    // After that, because what was read is a moment older than the changes, and may be older than what others were told.
    this.#forget(changes);
    for (const other of concurrentResults) this.#forget(other.changes);
  }

  #forget(changes: readonly Change[] | undefined): void {
    if (changes) {
      for (const { kind, id } of changes) this.#forgetOne[kind](id);
    } else {
      this.#accounts.forgetAll();
      this.#feeds.forgetAll();
    }
  }

  readonly #forgetOne: Readonly<Record<Change['kind'], (id: string) => void>> = {
    'leads-appended': (id) => this.#feeds.grow(id),
    company: (id) => this.#feeds.forget(id),
    user: (id) => this.#accounts.forgetUser(id),
    token: (id) => this.#accounts.forgetToken(id),
  };
}
