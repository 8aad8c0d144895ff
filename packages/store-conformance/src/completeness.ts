import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LeadRecord, Page, PageQuery, Store } from 'leadtap';
import { check, type Setup, type TestClock } from './check.ts';
import { ACME, apply, batches, FROM_THE_FIRST, lead, poll, stamp } from './sample.ts';

interface Answer {
  readonly query: PageQuery;
  readonly page: Page;
}

/** Asserts that no lead is missing from the answer that the client would never get. */
function assertComplete({ query, page }: Answer, final: readonly LeadRecord[]): void {
  const due = final.filter(({ createdAt }) => createdAt > (query.since ?? Number.NEGATIVE_INFINITY));
  const ids = page.leads.map(({ id }) => id);
  const first = due.slice(0, page.leads.length).map(({ id }) => id);
  assert.deepEqual(ids, first, 'D2: what was visible first has the smaller createdAt');
  const missing = due[page.leads.length];
  if (!missing || page.leads.length === query.limit) return;
  assert(
    missing.createdAt > page.readAt,
    `D3: the lead ${missing.id} of ${missing.createdAt} was missing from an answer of ${page.readAt}`,
  );
}

async function pollWith(store: Store, query: PageQuery = FROM_THE_FIRST): Promise<Answer> {
  return { query, page: await store.readPage(query) };
}

/** Polls until the work is done, like clients that continue from the last lead and like those that continue from the time. */
async function follow(store: Store, work: Promise<unknown>): Promise<Answer[]> {
  const answers: Answer[] = [];
  let done = false;
  const end = () => {
    done = true;
  };
  work.then(end, end);
  const since = { byLead: 0, byTime: 0 };
  while (!done) {
    const byLead = await pollWith(store, { ...FROM_THE_FIRST, since: since.byLead });
    const byTime = await pollWith(store, { ...FROM_THE_FIRST, since: since.byTime });
    since.byLead = byLead.page.leads.at(-1)?.createdAt ?? since.byLead;
    since.byTime = byTime.page.readAt;
    answers.push(byLead, byTime);
    // Writes may wait for a turn of the event loop, which polls of a synchronous store would never give.
    await nextTurn();
  }
  await work;
  return answers;
}

/** Advances the clock by a millisecond at every third read. */
function keepTicking(clock: TestClock): void {
  let reads = 0;
  const tick = () => {
    reads += 1;
    if (reads % 3 === 0) clock.now += 1;
    clock.afterNextRead(tick);
  };
  tick();
}

async function writeBatches(store: Store, prefix: string): Promise<void> {
  for (const batch of batches(prefix, 25, 2)) await stamp(store, batch);
}

/** Starts an action on another store right after the writing store has read the time, with the clock 50 ms later. */
async function begunWhileStamping<T>({ store, clock }: Setup, begin: () => Promise<T>): Promise<T> {
  let begun: Promise<T> | undefined;
  clock.afterNextRead(() => {
    clock.now += 50;
    begun = begin();
  });
  await stamp(store, [lead('slow')]);
  assert(begun, 'the store reads the time from the clock that it is given');
  return begun;
}

export const completenessChecks = [
  check('D3: an answer carries the time of the clock', async ({ store, clock }) => {
    await apply(store, ACME);
    clock.now += 1234;
    const { readAt, locked } = await poll(store);
    assert.deepEqual({ readAt, locked }, { readAt: clock.now, locked: true });
  }),

  check(
    'D3: a lead of the same millisecond as an answer is stamped after it',
    async ({ store, openAnother }) => {
      await apply(store, ACME);
      const other = await openAnother();
      for (const id of ['1', '2', '3']) {
        const { readAt } = await poll(store);
        const [createdAt = 0] = await stamp(other, [lead(id)]);
        assert(createdAt > readAt, `${createdAt} is after ${readAt}`);
      }
    },
  ),

  check('D3: a page without since has a time to continue from', async ({ store, clock }) => {
    await apply(store, ACME);
    const { readAt } = await store.readPage({ scope: FROM_THE_FIRST.scope, limit: 10 });
    assert.equal(readAt, clock.now);
    await stamp(store, [lead('1')]);
    assert.equal((await poll(store, { since: readAt })).leads.length, 1);
  }),

  check('D3: a poll that starts while a lead is being stamped misses no lead', async (setup) => {
    await apply(setup.store, ACME);
    const other = await setup.openAnother();
    const answer = await begunWhileStamping(setup, () => pollWith(other));
    assertComplete(answer, (await poll(setup.store)).leads);
  }),

  check('D2, D3: a write and a poll that start while a lead is being stamped miss no lead', async (setup) => {
    await apply(setup.store, ACME);
    const writer = await setup.openAnother();
    const poller = await setup.openAnother();
    const answers = await begunWhileStamping(setup, async () => {
      const early = pollWith(poller);
      await stamp(writer, [lead('quick')]);
      return Promise.all([early, pollWith(poller), pollWith(writer)]);
    });
    const final = await poll(setup.store);
    assert.equal(final.leads.length, 2);
    for (const answer of answers) assertComplete(answer, final.leads);
  }),

  check('D2, D3: a poll while two stores write misses no lead', async ({ store, clock, openAnother }) => {
    await apply(store, ACME);
    const [second, poller] = [await openAnother(), await openAnother()];
    keepTicking(clock);
    const work = Promise.all([writeBatches(store, 'a'), writeBatches(second, 'b')]);
    const answers = await follow(poller, work);
    const final = await poll(store);
    assert.equal(final.leads.length, 100);
    for (const answer of answers) assertComplete(answer, final.leads);
  }),

  check('D3: every store reads at once what another one has written', async ({ store, openAnother }) => {
    await apply(store, ACME);
    const other = await openAnother();
    for (const id of ['1', '2', '3']) {
      await stamp(store, [lead(id)]);
      assert.equal((await poll(other)).leads.at(-1)?.id, id);
    }
  }),
];
