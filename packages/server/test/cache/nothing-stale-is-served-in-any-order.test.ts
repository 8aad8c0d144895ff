import fc from 'fast-check';
import type { LeadRecord, User, VerifiedToken } from 'leadtap';
import { describe, expect, it } from 'vitest';
import type { FeedQuery } from '../../src/poll/cache/feed.ts';
import { sampleLead } from './support/sample-lead.ts';
import { Polls } from './support/simulated-polls.ts';
import { momentOf, SnapshotStore, type State } from './support/snapshot-store.ts';

const user = (id: string, rest: Partial<User> = {}): User => ({
  id,
  companyId: 'acme',
  email: null,
  name: null,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: 'north',
  departmentId: null,
  ...rest,
});

/** A lead of the version that comes next. */
const nextLead = ({ now }: SnapshotStore, rest: Partial<LeadRecord> = {}): LeadRecord =>
  sampleLead(momentOf(now + 1) - 500, { companyName: 'acme', ...rest });

const FIRST: State = {
  users: new Map([user('boss'), user('north-lead', { accessLevel: 'BRANCH' })].map((one) => [one.id, one])),
  revoked: new Set(),
  leads: [1, 2, 3].map((n) =>
    sampleLead(n * 1000, { companyName: 'acme', branchName: n === 2 ? 'north' : null }),
  ),
};

function begin(...timing: [nextWait?: () => number, nextFails?: () => boolean]) {
  const store = new SnapshotStore(FIRST, ...timing);
  const polls = new Polls(store);
  return { store, polls };
}

type World = ReturnType<typeof begin>;

const inAcme = { kind: 'company', id: 'acme' } as const;

/** Each changes something that an answer shows. */
const changes: Readonly<Record<string, (store: SnapshotStore, at: number) => void>> = {
  'add a lead': (store) =>
    store.commit({ leads: [...store.state.leads, nextLead(store)] }, { kind: 'leads-appended', id: 'acme' }),
  'add a lead to the branch': (store) =>
    store.commit(
      { leads: [...store.state.leads, nextLead(store, { branchName: 'north' })] },
      { kind: 'leads-appended', id: 'acme' },
    ),
  'add a lead in the past': (store) => {
    const createdAt = 500 + store.now;
    store.commit({ leads: [...store.state.leads, sampleLead(createdAt, { companyName: 'acme' })] }, inAcme);
  },
  'change a lead': (store, at) => {
    const { leads } = store.state;
    const changed = leads.map((lead, index) =>
      index === at % leads.length ? { ...lead, firstName: `version ${store.now + 1}` } : lead,
    );
    store.commit({ leads: changed }, inAcme);
  },
  'delete a lead': (store, at) => {
    const { leads } = store.state;
    store.commit({ leads: leads.filter((_, index) => index !== at % leads.length) }, inAcme);
  },
  'change a user': (store) => {
    const { users } = store.state;
    const boss = user('boss', { plan: `VERSION_${store.now + 1}` });
    store.commit({ users: new Map([...users, ['boss', boss]]) }, { kind: 'user', id: 'boss' });
  },
  'narrow or widen a user': (store) => {
    const { users } = store.state;
    const accessLevel = users.get('boss')?.accessLevel === 'BRANCH' ? 'COMPANY' : 'BRANCH';
    const boss = user('boss', { accessLevel, plan: `VERSION_${store.now + 1}` });
    store.commit({ users: new Map([...users, ['boss', boss]]) }, { kind: 'user', id: 'boss' });
  },
  'revoke a token': (store) => {
    const { revoked } = store.state;
    store.commit({ revoked: new Set([...revoked, 'other']) }, { kind: 'token', id: 'other' });
  },
};

const BEARERS: readonly VerifiedToken[] = [
  { userId: 'boss', tokenId: 'one' },
  { userId: 'boss', tokenId: 'other' },
  { userId: 'north-lead' },
];
const QUERIES: readonly FeedQuery[] = [
  { limit: 1 },
  { limit: 3 },
  { limit: 100 },
  { since: 0, limit: 2 },
  { since: 0, limit: 100 },
  { since: 2000, limit: 1 },
  { since: 2000, limit: 100 },
  { since: momentOf(0), limit: 100 },
];

const some = <T>(among: readonly T[]) => fc.subarray([...among], { minLength: 1, maxLength: 3 });

/** The events of each tick. There are few kinds of changes, users and queries, so that they often coincide. */
const scripts = fc
  .tuple(some(Object.entries(changes)), some(BEARERS), some(QUERIES))
  .chain(([kinds, tokens, queries]) => {
    const poll = fc.tuple(fc.constantFrom(...tokens), fc.constantFrom(...queries));
    const change = fc.tuple(fc.constantFrom(...kinds), fc.nat({ max: 9 }));
    const event = fc.record({
      polls: fc.oneof(fc.constant([]), fc.array(poll, { maxLength: 2 })),
      change: fc.option(change, { freq: 2 }),
    });
    return fc.array(event, { maxLength: 40, size: 'max' });
  });
/** Most steps follow at once, some take longer than whole queries of others. */
const waits = fc.infiniteStream(fc.oneof(fc.constant(0), fc.constant(0), fc.nat({ max: 10 })));

const failures = fc.infiniteStream(fc.integer({ min: 1, max: 12 }).map((number) => number === 1));

/** Takes steps of pending queries, by their index. */
async function advance({ store, polls: { settle } }: World, ...indexes: readonly number[]): Promise<void> {
  for (const index of indexes) {
    store.advance(index);
    await settle();
  }
}

const REVALIDATION_STEPS = [0, 0, 0];

describe('in every order in which queries begin, read and return', () => {
  it('no poll is answered with data older than itself, and nothing stale is cached', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, waits, failures, async (script, times, fails) => {
        const { store, polls } = begin(
          () => times.next().value,
          () => fails.next().value,
        );
        for (const event of script) {
          const [[, change] = [], at = 0] = event.change ?? [];
          change?.(store, at);
          for (const poll of event.polls) polls.begin(...poll);
          store.tick();
          await polls.settle();
        }
        await polls.drain();
        store.nextFails = () => false;
        for (const bearer of BEARERS) for (const query of QUERIES) polls.begin(bearer, query);
        await polls.drain();
      }),
      { numRuns: 100 },
    );
  });
});

describe('a page that was read before a lead was added', () => {
  it.each<[string, FeedQuery, FeedQuery]>([
    ['the newest leads', { limit: 1 }, { since: 0, limit: 100 }],
    ['the leads after a time', { since: 2000, limit: 100 }, { limit: 100 }],
  ])('%s, is not cached beside a feed that was read after it', async (_what, older, younger) => {
    const world = begin();
    const { store, polls } = world;
    polls.begin({ userId: 'boss' }, older);
    polls.begin({ userId: 'boss' }, younger);
    await polls.settle();
    await advance(world, ...REVALIDATION_STEPS);
    expect(store.pending).toBe(2);
    await advance(world, 0);
    changes['add a lead']?.(store, 0);
    await advance(world, 1, 1, 0);
    expect(store.pending).toBe(0);
    polls.begin({ userId: 'boss' }, older);
    await polls.drain();
  });
});
