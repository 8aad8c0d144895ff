import { type Revalidation, type RevalidationRequest, StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { PollCache } from '../../src/cache/poll-cache.ts';
import { pollOnce, StillStore } from './still-store.ts';

/** Lets the test hold up looks, or fail in their place. */
class HeldStore extends StillStore {
  before: () => Promise<void> = async () => undefined;
  /** Those that are under way now, and at most. */
  atOnce = { now: 0, most: 0 };

  override async revalidate(question: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    const now = this.atOnce.now + 1;
    this.atOnce = { now, most: Math.max(now, this.atOnce.most) };
    try {
      const told = super.revalidate(question, known);
      await this.before();
      return await told;
    } finally {
      this.atOnce.now -= 1;
    }
  }
}

/** What was asked for before the test begins is not in the notes. */
async function begin(...known: readonly string[]) {
  const store = new HeldStore();
  const memory = new PollCache(store, store);
  const poll = (userId: string) => pollOnce(memory, { userId });
  for (const userId of ['first', ...known]) await poll(userId);
  store.revalidations.length = 0;
  store.readings.length = 0;
  return { store, poll };
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `company-${n}`);
const settled = (polls: readonly Promise<unknown>[]) => Promise.allSettled(polls);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('polls that arrive together', () => {
  it('ask the store once, if it knows them', async () => {
    const { store, poll } = await begin('acme', 'globex');
    await Promise.all(Array.from({ length: 1000 }, (_, n) => poll(n % 2 ? 'acme' : 'globex')));
    expect(store.revalidations).toEqual([{ companies: ['globex', 'acme'], bearers: [] }]);
    expect(store.readings).toEqual([]);
  });

  it('read a page once for all who want it', async () => {
    const { store, poll } = await begin();
    await Promise.all(Array.from({ length: 50 }, (_, n) => poll(`acme/branch-${n % 5}`)));
    expect(store.revalidations).toHaveLength(1);
    expect(store.readings).toHaveLength(5);
  });

  it.each([
    ['that it knows', names(200)],
    ['that it does not', []],
  ])('of more companies %s than locks are taken at once, take several turns', async (_what, known) => {
    const { store, poll } = await begin(...known);
    const answers = await Promise.all(names(200).map(poll));
    expect(answers.map(({ scope }) => scope.companyId)).toEqual(names(200));
    const sizes = store.revalidations.map(({ companies, bearers }) => companies.length + bearers.length);
    expect(sizes).toEqual([64, 64, 64, 8]);
    expect(store.atOnce.most).toBe(2);
  });
});

describe('polls that arrive while the store is asked', () => {
  it('wait for a question that begins after them, and share it', async () => {
    const { store, poll } = await begin('acme');
    const held = deferred();
    store.before = () => held.promise;
    const polls: Promise<unknown>[] = [];
    for (let n = 0; n < 10; n += 1) {
      polls.push(poll('acme'));
      await turn();
    }
    // Two are under way; the others wait for the third.
    expect(store.revalidations).toHaveLength(2);
    held.resolve();
    await Promise.all(polls);
    expect(store.revalidations).toHaveLength(3);
  });
});

describe('a look that fails', () => {
  it('fails the polls that wait for it, and no others', async () => {
    const { store, poll } = await begin('acme');
    const [failing, held] = [deferred(), deferred()];
    const error = new StoreUnavailableError('gone for a moment');
    store.before = async () => {
      await failing.promise;
      throw error;
    };
    const unlucky = [poll('acme'), poll('acme'), poll('newcomer')];
    await turn();
    store.before = () => held.promise;
    // One is under way as well; the other waits until there is room for it.
    const lucky = [poll('acme'), turn().then(() => poll('newcomer'))];
    await turn();
    await turn();
    failing.resolve();
    for (const told of await settled(unlucky)) expect(told).toEqual({ status: 'rejected', reason: error });
    held.resolve();
    await Promise.all(lucky);
  });
});

describe('a store that hangs', () => {
  const MOST_WAITING = 5000;

  it('lets so many wait, turns away whoever comes then, and answers those who waited', async () => {
    const { store, poll } = await begin('acme');
    const held = deferred();
    store.before = () => held.promise;
    const waiting = Array.from({ length: MOST_WAITING }, () => poll('acme'));
    await turn();
    await expect(poll('acme')).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(poll('newcomer')).rejects.toBeInstanceOf(StoreUnavailableError);
    held.resolve();
    const states = new Set((await settled(waiting)).map(({ status }) => status));
    expect(states).toEqual(new Set(['fulfilled']));
    // Nobody waits any more.
    await Promise.all(Array.from({ length: MOST_WAITING }, () => poll('acme')));
  });

  it('forgets nobody in its count when looks fail', async () => {
    const { store, poll } = await begin('acme');
    store.before = () => Promise.reject(new StoreUnavailableError('away'));
    await settled(Array.from({ length: MOST_WAITING }, () => poll('acme')));
    store.before = async () => undefined;
    await Promise.all(Array.from({ length: MOST_WAITING }, () => poll('acme')));
  });
});
