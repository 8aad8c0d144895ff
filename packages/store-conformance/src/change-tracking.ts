import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  Change,
  ChangeTrackingStore,
  LeadFields,
  LeadRecord,
  PageQuery,
  Revalidation,
  RevalidationRequest,
  Store,
} from 'leadtap';
import { renderLead } from '../../server/src/leads/render.ts';
import { CHANGES, ofUser } from './changes.ts';
import { type ConformanceCheck, check, type Setup } from './check.ts';
import { FULL, withText } from './fields.ts';
import {
  ACME,
  ALL_OF_ACME,
  apply,
  bare,
  batches,
  FROM_THE_FIRST,
  GLOBEX,
  lead,
  poll,
  stamp,
  user,
} from './sample.ts';

/** Texts, numbers and times that databases write in other forms than JavaScript. */
const RENDERED_FIELDS: readonly Partial<LeadFields>[] = [
  FULL,
  {},
  withText('"\\/\b\t\n\f\r\u0001\u001f \u007f\u0080é\u2028😀\'%{}'),
  ...[{ firstName: 'Ada' }, { firstName: '', lastName: ' Ada ' }, { firstName: 'Ada', lastName: 'L' }],
  ...['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.990Z'].map((time) => ({
    appointmentDateTime: Date.parse(time),
  })),
  { customFields: { b: [1e21, 1e-7, 0.1, -1, 1e300, 2 ** 70], 2: null, 1: {}, '': ' "\n\t' } },
];

interface TrackingSetup extends Setup {
  /** Of another store than the one that writes. */
  readonly reader: ChangeTrackingStore;
}

const checkTracking = (name: string, body: (setup: TrackingSetup) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    const { changeTracking } = await setup.openAnother();
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, reader: changeTracking });
  });

const EMPTY_REQUEST: RevalidationRequest = { companies: [], tokens: [] };
const ACME_REQUEST: RevalidationRequest = { companies: ['acme'], tokens: [] };

/** Undefined `changes` invalidate everything, so they include the expected ones. */
function assertReported({ changes }: Revalidation, ...expected: readonly Change[]): void {
  if (!changes) return;
  const reported = new Set(changes.map(({ kind, id }) => `${kind} ${id}`));
  for (const { kind, id } of expected)
    assert(reported.has(`${kind} ${id}`), `${kind} ${id} is missing from: ${[...reported].join(', ')}`);
}

interface Answer {
  readonly revalidation: Revalidation;
  readonly ids: readonly string[];
}

async function assertSameLeads(store: Store, reader: ChangeTrackingStore, query: PageQuery): Promise<void> {
  const [read, page] = [await reader.readLeads(query), await store.readPage(query)];
  assert.deepEqual(read.map(renderLead), page.leads.map(renderLead));
  assert.deepEqual(
    read.map(({ createdAt }) => createdAt),
    page.leads.map(({ createdAt }) => createdAt),
  );
}

/** Of the leads of Acme, which the store may have rendered. */
async function readIds(reader: ChangeTrackingStore): Promise<string[]> {
  const leads = await reader.readLeads(FROM_THE_FIRST);
  return leads.map((lead): string => JSON.parse(renderLead(lead)).id);
}

/** Caches the leads of Acme until a revalidation reports a change. */
class LeadCache {
  readonly #reader: ChangeTrackingStore;
  #seen: string | undefined;
  #ids: readonly string[] = [];

  constructor(reader: ChangeTrackingStore) {
    this.#reader = reader;
  }

  async answer(request: RevalidationRequest = ACME_REQUEST): Promise<Answer> {
    const revalidation = await this.#reader.revalidate(request, this.#seen);
    if (revalidation.changes?.length !== 0) this.#ids = await readIds(this.#reader);
    this.#seen = revalidation.seen;
    return { revalidation, ids: this.#ids };
  }
}

/** The answer to a poll that starts right after the writing store has read the time, with the clock 50 ms later. */
async function answerWhileStamping(
  { store, clock, reader }: TrackingSetup,
  request?: RevalidationRequest,
): Promise<Answer> {
  const cache = new LeadCache(reader);
  await cache.answer();
  let begun: Promise<Answer> | undefined;
  clock.afterNextRead(() => {
    clock.now += 50;
    begun = cache.answer(request);
  });
  await stamp(store, [lead('slow')]);
  assert(begun, 'the store reads the time from the clock that it is given');
  return begun;
}

/** D3 for an answer from cached leads and the time of a revalidation. */
function assertComplete({ revalidation, ids }: Answer, final: readonly LeadRecord[]): void {
  if (revalidation.busy.has('acme')) return;
  const missing = final.find(({ id }) => !ids.includes(id));
  assert(
    !missing || missing.createdAt > revalidation.readAt,
    `D3: the lead ${missing?.id} of ${missing?.createdAt} was missing from an answer of ${revalidation.readAt}`,
  );
}

/** Answers polls until the work is done. */
async function follow(cache: LeadCache, work: Promise<unknown>): Promise<Answer[]> {
  const answers: Answer[] = [];
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) {
    answers.push(await cache.answer());
    // Writes may wait for a turn of the event loop, which polls of a synchronous store would never give.
    await nextTurn();
  }
  await work;
  return answers;
}

const changeChecks = CHANGES.map(([what, change, happen]) =>
  checkTracking(
    `change tracking: the next revalidation reports ${what}, in every store`,
    async ({ store, reader }) => {
      await stamp(store, [lead('x', { departmentId: 'sales' })]);
      // The store that writes reports its own changes, too.
      const readers = [reader, store.changeTracking];
      const before = await Promise.all(readers.map((one) => one.revalidate(EMPTY_REQUEST, undefined)));
      await happen(store);
      for (const [n, one] of readers.entries()) {
        const seen = before[n]?.seen;
        const next = await one.revalidate(EMPTY_REQUEST, seen);
        assertReported(next, change);
        // An older position gets the change again; the newest one does not.
        assertReported(await one.revalidate(EMPTY_REQUEST, seen), change);
        assert.deepEqual((await one.revalidate(EMPTY_REQUEST, next.seen)).changes ?? [], []);
      }
    },
  ),
);

export const changeTrackingChecks = [
  checkTracking('change tracking: the first revalidation invalidates everything', async ({ reader }) => {
    assert.equal((await reader.revalidate(EMPTY_REQUEST, undefined)).changes, undefined);
  }),

  ...changeChecks,

  checkTracking('change tracking: an unknown position invalidates everything', async ({ store, reader }) => {
    await stamp(store, [lead('x')]);
    for (const known of ['made up', '', '-1', '999999999', '1:1:'])
      assert.equal(
        (await reader.revalidate(EMPTY_REQUEST, known)).changes,
        undefined,
        `changes since "${known}"`,
      );
  }),

  checkTracking('change tracking: none of thousands of changes is missed', async ({ store, reader }) => {
    const { seen } = await reader.revalidate(EMPTY_REQUEST, undefined);
    const users = Array.from({ length: 2500 }, (_, index) => user(`user-${index}`));
    await apply(store, bare('large', { users }));
    await apply(store, bare('large', { users: users.map((one) => ({ ...one, plan: 'STARTER' })) }));
    assertReported(await reader.revalidate(EMPTY_REQUEST, seen), ...users.map(({ id }) => ofUser(id)));
  }),

  checkTracking(
    'change tracking: a revalidation returns the account of each bearer',
    async ({ store, reader }) => {
      await store.revokeToken('bad');
      const { accounts } = await reader.revalidate(
        {
          companies: [],
          tokens: [
            { userId: 'seller', tokenId: 'good' },
            { userId: 'unknown', tokenId: 'good' },
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
    },
  ),

  checkTracking('change tracking: readLeads returns the leads of readPage', async ({ store, reader }) => {
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
        await assertSameLeads(store, reader, query);
  }),

  checkTracking(
    'change tracking: readLeads renders leads as they are rendered elsewhere',
    async ({ store, reader }) => {
      await stamp(
        store,
        RENDERED_FIELDS.map((fields, n) => lead(`${n}`, { departmentId: 'sales', fields })),
      );
      await assertSameLeads(store, reader, FROM_THE_FIRST);
    },
  ),

  checkTracking(
    'D3: a lead is read after a revalidation, or stamped after it',
    async ({ store, clock, reader }) => {
      for (const id of ['1', '2', '3']) {
        clock.now += 10;
        const { readAt, busy } = await reader.revalidate(ACME_REQUEST, undefined);
        assert.deepEqual([readAt, [...busy]], [clock.now, []]);
        const [createdAt = 0] = await stamp(store, [lead(id)]);
        assert(createdAt > readAt, `${createdAt} is after ${readAt}`);
        assert.equal((await readIds(reader)).at(-1), id);
      }
    },
  ),

  checkTracking(
    'D3: a revalidation that starts while a lead is being stamped misses no lead',
    async (setup) => {
      const answer = await answerWhileStamping(setup);
      assertComplete(answer, (await poll(setup.store)).leads);
      const { busy } = await setup.reader.revalidate(ACME_REQUEST, answer.revalidation.seen);
      assert.deepEqual([...busy], [], 'no store is writing any more');
    },
  ),

  checkTracking('D3: a revalidation for the company of a bearer misses no lead', async (setup) => {
    const answer = await answerWhileStamping(setup, { companies: [], tokens: [{ userId: 'boss' }] });
    assertComplete(answer, (await poll(setup.store)).leads);
  }),

  checkTracking('D2, D3: a cache misses no lead', async ({ store, openAnother, reader }) => {
    const second = await openAnother();
    const writeBatches = async (writer: Store, prefix: string) => {
      for (const batch of batches(prefix, 25, 2)) await stamp(writer, batch);
    };
    const work = Promise.all([writeBatches(store, 'a'), writeBatches(second, 'b')]);
    const answers = await follow(new LeadCache(reader), work);
    const final = (await poll(store)).leads;
    assert.equal(final.length, 100);
    for (const answer of answers) assertComplete(answer, final);
  }),
];
