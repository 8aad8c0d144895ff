import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Lead } from '@leadtap/contract';
import { type LeadRecord, type PageQuery, StoreUnavailableError, type VerifiedToken } from 'leadtap';
import { type PollingUser, scopeOf } from '../../../src/leads/access.ts';
import { renderLead } from '../../../src/leads/render.ts';
import { AccountCache } from '../../../src/poll/cache/account-cache.ts';
import type { FeedQuery } from '../../../src/poll/cache/feed.ts';
import { PollCache, type RenderedPage } from '../../../src/poll/cache/poll-cache.ts';
import { pageOf, type SnapshotStore, type State, versionAt } from './snapshot-store.ts';

/** What a poll returned. */
interface PollResult {
  readonly isRevoked: boolean;
  readonly user: PollingUser | undefined;
  readonly page?: { readonly query: PageQuery; readonly found: RenderedPage };
}

const { signal } = new AbortController();

/** Polls on a store whose history is known, each checked when it returns. */
export class Polls {
  readonly #accounts: AccountCache;
  readonly #cache: PollCache;
  readonly #store: SnapshotStore;
  /** Settled when the answer was found to be right, or the store was unavailable. */
  readonly checked: Promise<void>[] = [];

  constructor(store: SnapshotStore) {
    this.#accounts = new AccountCache(store);
    this.#cache = new PollCache(store, this.#accounts);
    this.#store = store;
  }

  begin(bearer: VerifiedToken, query: FeedQuery): void {
    const began = this.#store.now;
    const checked = this.#poll(bearer, query).then(
      (result) => this.#check(result, bearer, began),
      (error: unknown) => assert(error instanceof StoreUnavailableError, String(error)),
    );
    checked.catch(() => undefined);
    this.checked.push(checked);
  }

  async #poll(bearer: VerifiedToken, query: FeedQuery): Promise<PollResult> {
    const { isRevoked, user, revalidation } = await this.#accounts.revalidateFor(bearer);
    const scope = user && scopeOf(user);
    if (isRevoked || !scope) return { isRevoked, user };
    const pageQuery = { scope, ...query };
    const found = await this.#cache.readPage(pageQuery, revalidation, () => signal);
    return { isRevoked, user, page: { query: pageQuery, found } };
  }

  /** Lets everything continue that can. */
  settle(): Promise<void> {
    // A batch starts in the next turn of the event loop.
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets time pass until all polls have returned. */
  async drain(): Promise<void> {
    const all = Promise.all(this.checked);
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    all.then(end, end);
    while (!isDone) {
      this.#store.tick();
      await this.settle();
    }
    await all;
  }

  /** Nothing is older than the moment at which the poll began. */
  #check(
    { isRevoked, user, page }: PollResult,
    { userId, tokenId = '' }: VerifiedToken,
    began: number,
  ): void {
    const isOfAccount = ({ users, revoked }: State) =>
      isSameUser(users.get(userId), user) && revoked.has(tokenId) === isRevoked;
    assert(
      this.#since(began).some(isOfAccount),
      `${userId} was as in the answer at no time since version ${began}`,
    );
    if (!page) return;
    if (page.found.isOlderThanAccount) this.#checkAge(page.found, began, isOfAccount);
    const seen = versionAt(page.found.readAt);
    assert(seen >= began, `the moment is that of version ${seen}, the poll began at ${began}`);
    checkPage(page.query, page.found, this.#since(seen));
  }

  /** No lead was committed after the last version in which the account was as in the answer. */
  #checkAge({ leads }: RenderedPage, began: number, isOfAccount: (state: State) => boolean): void {
    const last = began + this.#since(began).findLastIndex(isOfAccount);
    const committed = new Set(
      Array.from({ length: last + 1 }, (_, version) => this.#store.stateAt(version).leads)
        .flat()
        .map(renderLead),
    );
    for (const lead of JSON.parse(leads.body.toString()) as Lead[])
      assert(committed.has(JSON.stringify(lead)), `${lead.id} is newer than the account of version ${last}`);
  }

  #since(version: number): readonly State[] {
    return Array.from({ length: this.#store.now - version + 1 }, (_, n) => this.#store.stateAt(version + n));
  }
}

const isSameUser = (stored: PollingUser | undefined, user: PollingUser | undefined): boolean =>
  isDeepStrictEqual(pollingFields(stored), pollingFields(user));

/** The cache has neither the name nor the e-mail address. */
const pollingFields = (user: PollingUser | undefined) =>
  user && [user.id, user.companyId, user.plan, user.accessLevel, user.branchId, user.departmentId];

/** Each lead is as it was in one of the states, and none is missing that was there in all of them. */
function checkPage(query: PageQuery, { leads, readAt }: RenderedPage, states: readonly State[]): void {
  const shown: Lead[] = JSON.parse(leads.body.toString());
  const pages = states.map((state) => pageOf(state, { ...query, limit: Number.POSITIVE_INFINITY }));
  const rendered = new Set(pages.flat().map(renderLead));
  for (const lead of shown)
    assert(rendered.has(JSON.stringify(lead)), `${lead.id} in an answer of ${readAt} is stale`);
  const stamps = shown.map(({ createdAt }) => Date.parse(createdAt));
  const isBeyond = ({ createdAt }: LeadRecord) =>
    shown.length === query.limit &&
    stamps.every((stamp) => (query.since === undefined ? stamp > createdAt : stamp < createdAt));
  const constant = pages[0]?.filter(({ id }) => pages.every((page) => page.some((lead) => lead.id === id)));
  for (const lead of constant ?? [])
    assert(
      stamps.includes(lead.createdAt) || isBeyond(lead),
      `${lead.id} is missing from an answer of ${readAt}`,
    );
}
