import { type Revalidation, type RevalidationRequest, StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { createPoll, StubStore } from './support/stub-store.ts';

/** Lets the test delay revalidations or make them fail. */
class DelayedStore extends StubStore {
  before: () => Promise<void> = async () => undefined;
  concurrent = { now: 0, max: 0 };

  override async revalidate(request: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    const now = this.concurrent.now + 1;
    this.concurrent = { now, max: Math.max(now, this.concurrent.max) };
    try {
      const result = super.revalidate(request, known);
      await this.before();
      return await result;
    } finally {
      this.concurrent.now -= 1;
    }
  }
}

/** Queries before the test begins are not in the records. */
async function begin(...known: readonly string[]) {
  const store = new DelayedStore();
  const pollAs = createPoll(store);
  const poll = (userId: string) => pollAs({ userId });
  for (const userId of ['first', ...known]) await poll(userId);
  store.revalidations.length = 0;
  store.reads.length = 0;
  return { store, poll };
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `company-${n}`);
const settled = (polls: readonly Promise<unknown>[]) => Promise.allSettled(polls);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('polls that arrive together', () => {
  it('share one query, if their users are cached', async () => {
    const { store, poll } = await begin('acme', 'globex');
    await Promise.all(Array.from({ length: 1000 }, (_, n) => poll(n % 2 ? 'acme' : 'globex')));
    expect(store.revalidations).toEqual([{ companies: ['globex', 'acme'], tokens: [] }]);
    expect(store.reads).toEqual([]);
  });

  it('share one read of a page', async () => {
    const { store, poll } = await begin();
    await Promise.all(Array.from({ length: 50 }, (_, n) => poll(`acme/branch-${n % 5}`)));
    expect(store.revalidations).toHaveLength(1);
    expect(store.reads).toHaveLength(5);
  });

  it.each([
    ['that are cached', names(200)],
    ['that are not', []],
  ])('of more companies %s than one batch may lock, make several batches', async (_what, known) => {
    const { store, poll } = await begin(...known);
    const answers = await Promise.all(names(200).map(poll));
    expect(answers.map(({ scope }) => scope.companyId)).toEqual(names(200));
    const sizes = store.revalidations.map(({ companies, tokens }) => companies.length + tokens.length);
    expect(sizes).toEqual([64, 64, 64, 8]);
    expect(store.concurrent.max).toBe(1);
  });
});

describe('polls that arrive while a revalidation runs', () => {
  it('wait for one that begins after them, and share it', async () => {
    const { store, poll } = await begin('acme');
    const release = deferred();
    store.before = () => release.promise;
    const polls: Promise<unknown>[] = [];
    for (let n = 0; n < 10; n += 1) {
      polls.push(poll('acme'));
      await turn();
    }
    expect(store.revalidations).toHaveLength(1);
    release.resolve();
    await Promise.all(polls);
    expect(store.revalidations).toHaveLength(2);
  });
});

describe('a revalidation that fails', () => {
  it('fails the polls that wait for it, and no others', async () => {
    const { store, poll } = await begin('acme');
    const [failing, release] = [deferred(), deferred()];
    const error = new StoreUnavailableError('no connection');
    store.before = async () => {
      await failing.promise;
      throw error;
    };
    const failed = [poll('acme'), poll('acme'), poll('newcomer')];
    await turn();
    store.before = () => release.promise;
    const others = [poll('acme'), turn().then(() => poll('newcomer'))];
    await turn();
    await turn();
    failing.resolve();
    for (const result of await settled(failed)) expect(result).toEqual({ status: 'rejected', reason: error });
    release.resolve();
    await Promise.all(others);
  });
});

describe('a store that hangs', () => {
  const MAX_QUEUED_REVALIDATIONS = 5000;

  it('makes 5000 polls wait, rejects further ones, and answers those that waited', async () => {
    const { store, poll } = await begin('acme');
    const release = deferred();
    store.before = () => release.promise;
    const waiting = Array.from({ length: MAX_QUEUED_REVALIDATIONS }, () => poll('acme'));
    await turn();
    const error = new StoreUnavailableError('5000 requests are already queued for the database');
    await expect(poll('acme')).rejects.toThrow(error);
    await expect(poll('newcomer')).rejects.toThrow(error);
    release.resolve();
    const states = new Set((await settled(waiting)).map(({ status }) => status));
    expect(states).toEqual(new Set(['fulfilled']));
    // The count is back at zero.
    await Promise.all(Array.from({ length: MAX_QUEUED_REVALIDATIONS }, () => poll('acme')));
  });

  it('counts the waiting polls right when revalidations fail', async () => {
    const { store, poll } = await begin('acme');
    store.before = () => Promise.reject(new StoreUnavailableError('no connection'));
    await settled(Array.from({ length: MAX_QUEUED_REVALIDATIONS }, () => poll('acme')));
    store.before = async () => undefined;
    await Promise.all(Array.from({ length: MAX_QUEUED_REVALIDATIONS }, () => poll('acme')));
  });
});
