import assert from 'node:assert/strict';
import type {
  Change,
  ChangeTrackingStore,
  LeadRecord,
  Revalidation,
  RevalidationRequest,
  Store,
} from 'leadtap';
import { CHANGES, ofUser } from './changes.ts';
import { type ConformanceCheck, check, type Setup } from './check.ts';
import {
  ACME,
  ALL_OF_ACME,
  apply,
  bare,
  batches,
  FROM_THE_FIRST,
  GLOBEX,
  idsOf,
  lead,
  poll,
  stamp,
  user,
} from './sample.ts';

interface Watched extends Setup {
  /** Of another store than the one that writes. */
  readonly watcher: ChangeTrackingStore;
}

/** To watch a store is optional: one that cannot be watched passes. */
const watching = (name: string, body: (setup: Watched) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    if (!setup.store.changeTracking) return;
    const { changeTracking } = await setup.openAnother();
    assert(changeTracking, 'all stores of a database can be changeTracking, or none');
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, watcher: changeTracking });
  });

const NOBODY: RevalidationRequest = { companies: [], bearers: [] };
const AT_ACME: RevalidationRequest = { companies: ['acme'], bearers: [] };

/** Whoever is told that anything may have changed is told this too. */
function assertTold({ changes }: Revalidation, ...expected: readonly Change[]): void {
  if (!changes) return;
  const told = new Set(changes.map(({ kind, id }) => `${kind} ${id}`));
  for (const { kind, id } of expected)
    assert(told.has(`${kind} ${id}`), `${kind} ${id} is told, not only: ${[...told].join(', ')}`);
}

interface Answer {
  readonly revalidation: Revalidation;
  readonly ids: readonly string[];
}

/** Remembers the leads of Acme for as long as no look tells of a change. */
class Memory {
  readonly #watcher: ChangeTrackingStore;
  #seen: string | undefined;
  #ids: readonly string[] = [];

  constructor(watcher: ChangeTrackingStore) {
    this.#watcher = watcher;
  }

  async answer(question: RevalidationRequest = AT_ACME): Promise<Answer> {
    const revalidation = await this.#watcher.revalidate(question, this.#seen);
    if (revalidation.changes?.length !== 0) this.#ids = idsOf(await this.#watcher.readLeads(FROM_THE_FIRST));
    this.#seen = revalidation.seen;
    return { revalidation, ids: this.#ids };
  }
}

/** Of a look that begins at the moment at which the writing store has read the time, 50 ms later by the clock. */
async function answerWhileStamping(
  { store, clock, watcher }: Watched,
  question?: RevalidationRequest,
): Promise<Answer> {
  const memory = new Memory(watcher);
  await memory.answer();
  let begun: Promise<Answer> | undefined;
  clock.afterNextRead(() => {
    clock.now += 50;
    begun = memory.answer(question);
  });
  await stamp(store, [lead('slow')]);
  assert(begun, 'the store reads the time from the clock that it is given');
  return begun;
}

/** D3 of an answer that is made of what is remembered and of the moment of a look. */
function assertComplete({ revalidation, ids }: Answer, final: readonly LeadRecord[]): void {
  if (revalidation.busy.has('acme')) return;
  const missing = final.find(({ id }) => !ids.includes(id));
  assert(
    !missing || missing.createdAt > revalidation.readAt,
    `D3: the lead ${missing?.id} of ${missing?.createdAt} was missing from an answer of ${revalidation.readAt}`,
  );
}

/** Answers as fast as it can until the work is done. */
async function follow(memory: Memory, work: Promise<unknown>): Promise<Answer[]> {
  const answers: Answer[] = [];
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) answers.push(await memory.answer());
  await work;
  return answers;
}

const changeChecks = CHANGES.map(([what, change, happen]) =>
  watching(
    `watching: the next look tells of ${what}, and whoever looks knows it`,
    async ({ store, watcher }) => {
      await stamp(store, [lead('x', { departmentId: 'sales' })]);
      // Whoever writes may look as well, and hears of its own changes.
      const watchers = [watcher, store.changeTracking ?? watcher];
      const before = await Promise.all(watchers.map((one) => one.revalidate(NOBODY, undefined)));
      await happen(store);
      for (const [n, one] of watchers.entries()) {
        const seen = before[n]?.seen;
        const next = await one.revalidate(NOBODY, seen);
        assertTold(next, change);
        // Whoever has missed a look misses nothing; who has not is told nothing twice.
        assertTold(await one.revalidate(NOBODY, seen), change);
        assert.deepEqual((await one.revalidate(NOBODY, next.seen)).changes ?? [], []);
      }
    },
  ),
);

export const watchingChecks = [
  watching('watching: the first look knows of nothing that it could compare with', async ({ watcher }) => {
    assert.equal((await watcher.revalidate(NOBODY, undefined)).changes, undefined);
  }),

  ...changeChecks,

  watching('watching: a known that no look gave may have missed anything', async ({ store, watcher }) => {
    await stamp(store, [lead('x')]);
    for (const known of ['made up', '', '-1', '999999999', '1:1:'])
      assert.equal((await watcher.revalidate(NOBODY, known)).changes, undefined, `changes since "${known}"`);
  }),

  watching('watching: of thousands of changes none is missed', async ({ store, watcher }) => {
    const { seen } = await watcher.revalidate(NOBODY, undefined);
    const users = Array.from({ length: 2500 }, (_, index) => user(`user-${index}`));
    await apply(store, bare('large', { users }));
    await apply(store, bare('large', { users: users.map((one) => ({ ...one, plan: 'STARTER' })) }));
    assertTold(await watcher.revalidate(NOBODY, seen), ...users.map(({ id }) => ofUser(id)));
  }),

  watching('watching: a look tells who the bearers are, one by one', async ({ store, watcher }) => {
    await store.revokeToken('bad');
    const { accounts } = await watcher.revalidate(
      {
        companies: [],
        bearers: [
          { userId: 'seller', tokenId: 'good' },
          { userId: 'nobody', tokenId: 'good' },
          { userId: 'boss', tokenId: 'bad' },
          { userId: 'rival' },
          { userId: 'seller', tokenId: undefined },
          { userId: 'BOSS', tokenId: 'bad ' },
        ],
      },
      undefined,
    );
    const [seller, boss, rival] = [
      await store.findUser('seller'),
      await store.findUser('boss'),
      await store.findUser('rival'),
    ];
    const expected = [seller, undefined, boss, rival, seller, undefined];
    assert.deepEqual(
      accounts.map((account) => account.user ?? undefined),
      expected,
    );
    assert.deepEqual(
      accounts.map(({ isRevoked }) => isRevoked),
      [false, false, true, false, false, false],
    );
  }),

  watching('watching: what is read without a lock is what a page shows', async ({ store, watcher }) => {
    await stamp(store, [lead('1'), lead('2', { departmentId: 'sales' }), lead('3', { branchId: 'north' })]);
    const scopes = [
      ALL_OF_ACME,
      { level: 'BRANCH', companyId: 'acme', branchId: 'north' },
      { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' },
      { level: 'COMPANY', companyId: 'globex' },
    ] as const;
    for (const scope of scopes)
      for (const query of [
        { scope, limit: 2 },
        { scope, since: 0, limit: 2 },
      ])
        assert.deepEqual(await watcher.readLeads(query), (await store.readPage(query)).leads);
  }),

  watching(
    'D3: a lead is in what is read after a look, or stamped after it',
    async ({ store, clock, watcher }) => {
      for (const id of ['1', '2', '3']) {
        clock.now += 10;
        const { readAt, busy } = await watcher.revalidate(AT_ACME, undefined);
        assert.deepEqual([readAt, [...busy]], [clock.now, []]);
        const [createdAt = 0] = await stamp(store, [lead(id)]);
        assert(createdAt > readAt, `${createdAt} is after ${readAt}`);
        assert.equal((await watcher.readLeads(FROM_THE_FIRST)).at(-1)?.id, id);
      }
    },
  ),

  watching('D3: a look that begins while a lead is being stamped leaves no gap', async (setup) => {
    const answer = await answerWhileStamping(setup);
    assertComplete(answer, (await poll(setup.store)).leads);
    const { busy } = await setup.watcher.revalidate(AT_ACME, answer.revalidation.seen);
    assert.deepEqual([...busy], [], 'nobody writes any more');
  }),

  watching('D3: nor does one that learns the company from its bearer', async (setup) => {
    const answer = await answerWhileStamping(setup, { companies: [], bearers: [{ userId: 'boss' }] });
    assertComplete(answer, (await poll(setup.store)).leads);
  }),

  watching(
    'D2, D3: who remembers what it has read leaves no gap',
    async ({ store, openAnother, watcher }) => {
      const second = await openAnother();
      const writeInTurn = async (writer: Store, prefix: string) => {
        for (const batch of batches(prefix, 25, 2)) await stamp(writer, batch);
      };
      const work = Promise.all([writeInTurn(store, 'a'), writeInTurn(second, 'b')]);
      const answers = await follow(new Memory(watcher), work);
      const final = (await poll(store)).leads;
      assert.equal(final.length, 100);
      for (const answer of answers) assertComplete(answer, final);
    },
  ),
];
