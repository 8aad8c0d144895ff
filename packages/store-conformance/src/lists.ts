import assert from 'node:assert/strict';
import type { LeadInput, LeadListQuery, Store, StoredLead } from 'leadtap';
import { check } from './check.ts';
import { ACME, ALL_OF_ACME, apply, bare, find, GLOBEX, lead, poll, stamp, write } from './sample.ts';

const nameOf = ({ companyId, lead: { id } }: StoredLead): string => `${companyId}/${id}`;

/** Follows the pages to the end. */
async function listAll(store: Store, query: Omit<LeadListQuery, 'after'>): Promise<string[]> {
  const listed: string[] = [];
  let after: LeadListQuery['after'];
  for (;;) {
    const page = await store.listLeads({ ...query, ...(after && { after }) });
    assert(page.length <= query.limit, 'a page has at most `limit` leads');
    listed.push(...page.map(nameOf));
    const last = page.at(-1);
    if (last === undefined || listed.length > 1000) return listed;
    after = { companyId: last.companyId, createdAt: last.lead.createdAt };
  }
}

/** The same stamps in three companies, so that the company decides the order. */
async function fillThree(store: Store): Promise<number[]> {
  await apply(store, bare('a'), bare('B'), bare('c'));
  const stamps: number[] = [];
  for (const id of ['1', '2', '3']) {
    const batch = ['c', 'a', 'B'].map((companyId) => lead(id, { companyId }));
    stamps.push(Math.max(...(await stamp(store, batch))));
  }
  return stamps;
}

const IN_ORDER = ['1', '2', '3'].flatMap((id) => ['B', 'a', 'c'].map((companyId) => `${companyId}/${id}`));

const PLANNED: readonly Partial<LeadInput>[] = [
  {},
  { branchId: 'south' },
  { departmentId: 'sales' },
  { branchId: 'west' },
  { branchId: 'south', departmentId: 'sales' },
  { statusValue: 'UNKNOWN' },
  { companyId: 'nowhere' },
];

export const listChecks = [
  check('lists: leads of all companies are listed in pages of any size, each once', async ({ store }) => {
    const [first = 0] = await fillThree(store);
    for (const limit of [1, 2, 3, 4, 100]) {
      assert.deepEqual(await listAll(store, { since: 0, limit }), IN_ORDER);
      assert.deepEqual(await listAll(store, { limit }), [...IN_ORDER].reverse());
      assert.deepEqual(await listAll(store, { since: first, limit }), IN_ORDER.slice(3));
      assert.deepEqual(await listAll(store, { companyId: 'a', limit }), ['a/3', 'a/2', 'a/1']);
      assert.deepEqual(await listAll(store, { companyId: 'a', since: first, limit }), ['a/2', 'a/3']);
    }
    for (const companyId of ['nowhere', 'A', 'a ', '', 'a\0'])
      assert.deepEqual(await listAll(store, { companyId, limit: 10 }), [], JSON.stringify(companyId));
  }),

  check('lists: companies with many and with few leads are listed in one order', async ({ store }) => {
    await apply(store, bare('many'), bare('some'), bare('one'));
    const batch = Array.from({ length: 200 }, (_, index) => {
      const companyId = index === 150 ? 'one' : index % 3 === 0 && index > 50 ? 'some' : 'many';
      return lead(`${index}`, { companyId, createdAt: Date.UTC(2020, 0) + index });
    });
    await stamp(store, batch, { historical: true });
    const names = batch.map(({ companyId, id }) => `${companyId}/${id}`);
    for (const limit of [40, 150, 199, 200, 500]) {
      assert.deepEqual(await listAll(store, { since: 0, limit }), names);
      assert.deepEqual(await listAll(store, { limit }), [...names].reverse());
      const page = await store.listLeads({ limit });
      assert.equal(page.length, Math.min(limit, names.length), 'a page is full if there are enough leads');
    }
  }),

  check('lists: a lead has the fields of a poll and the ids of its places', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const fields = {
      firstName: 'Zoë',
      sameDay: true,
      customFields: { a: [1, null] },
      images: ['https://x.y'],
    };
    const [createdAt] = await stamp(store, [
      lead('1', { departmentId: 'sales', fields: { ...fields, appointmentDateTime: 1 } }),
    ]);
    const expected = {
      companyId: 'acme',
      branchId: 'north',
      departmentId: 'sales',
      lead: await find(store, '1'),
    };
    assert.equal(expected.lead.createdAt, createdAt);
    assert.deepEqual(await store.listLeads({ limit: 10 }), [expected]);
    assert.deepEqual(await store.findLeads('1'), [expected]);
  }),

  check('lists: a lead is found by its exact id, in one company or in all', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, [lead('1', { companyId: 'globex' }), lead('1'), lead('2')]);
    const names = async (id: string, companyId?: string) =>
      (await store.findLeads(id, companyId)).map(nameOf);
    assert.deepEqual(await names('1'), ['acme/1', 'globex/1']);
    assert.deepEqual(await names('1', 'globex'), ['globex/1']);
    assert.deepEqual(await names('2'), ['acme/2']);
    for (const id of ['3', '', '1 ', ' 1', '1\0', '%', '\ud800'])
      assert.deepEqual(await names(id), [], JSON.stringify(id));
    assert.deepEqual(await names('1', 'nowhere'), []);
  }),

  check('lists: a plan says what a write would do, and writes nothing', async ({ store, openAnother }) => {
    await apply(store, ACME, GLOBEX);
    const [createdAt] = await stamp(store, [lead('old', { departmentId: 'service' })]);
    const leads = [
      ...PLANNED.map((input, index) => lead(`${index}`, input)),
      lead('old'),
      lead('old', { branchId: 'south' }),
      lead('old', { companyId: 'globex' }),
      { companyId: 'acme', fields: {} },
    ];
    const planned = await store.planLeads(leads);
    const other = await openAnother();
    const page = await poll(other);
    assert.deepEqual(
      page.leads.map(({ id }) => id),
      ['old'],
    );
    assert.equal((await other.readPage({ scope: ALL_OF_ACME, limit: 1 })).lastStamp, createdAt);
    // One by one, because a plan compares with the stored leads only.
    for (const [index, input] of leads.entries()) {
      const [result] = await write(store, [input]);
      const plan = planned[index];
      assert(result && plan);
      if (plan.kind === 'rejected' || result.kind === 'rejected') assert.deepEqual(plan, result);
      else {
        assert.equal(plan.kind, result.kind);
        const [stored] = await store.findLeads(result.id, input.companyId);
        const { branchId, departmentId } = plan;
        assert.deepEqual([stored?.branchId, stored?.departmentId], [branchId, departmentId]);
      }
    }
    assert.deepEqual(await store.planLeads([]), []);
  }),
];
