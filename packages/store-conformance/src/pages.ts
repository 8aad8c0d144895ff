import assert from 'node:assert/strict';
import type { LeadScope, Store } from 'leadtap';
import { check } from './check.ts';
import { ACME, ALL_OF_ACME, apply, GLOBEX, idsOf, lead, poll, stamp } from './sample.ts';

const LEADS = [
  lead('nowhere'),
  lead('north', { branchId: 'north' }),
  lead('sales', { departmentId: 'sales' }),
  lead('foreign', { companyId: 'globex', departmentId: 'sales' }),
  lead('south', { branchId: 'south' }),
  lead('service', { departmentId: 'service' }),
  lead('sales-2', { departmentId: 'sales' }),
];

const branch = (branchId: string): LeadScope => ({ level: 'BRANCH', companyId: 'acme', branchId });
const department = (departmentId: string): LeadScope => ({
  level: 'DEPARTMENT',
  companyId: 'acme',
  departmentId,
});

/** The leads that each scope contains, oldest first. */
const SEEN: readonly [LeadScope, readonly string[]][] = [
  [ALL_OF_ACME, ['nowhere', 'north', 'sales', 'south', 'service', 'sales-2']],
  [branch('north'), ['north', 'sales', 'service', 'sales-2']],
  [branch('south'), ['south']],
  [branch('west'), []],
  [department('sales'), ['sales', 'sales-2']],
  [department('service'), ['service']],
  [department('south-sales'), []],
  [{ level: 'COMPANY', companyId: 'globex' }, ['foreign']],
  [{ level: 'BRANCH', companyId: 'globex', branchId: 'north' }, ['foreign']],
  [{ level: 'DEPARTMENT', companyId: 'globex', departmentId: 'sales' }, ['foreign']],
  [{ level: 'COMPANY', companyId: 'nowhere' }, []],
];

async function fill(store: Store): Promise<number[]> {
  await apply(store, ACME, GLOBEX);
  return stamp(store, LEADS);
}

export const pageChecks = [
  check('pages: with since, a user sees the leads of the access level, oldest first', async ({ store }) => {
    await fill(store);
    for (const [scope, ids] of SEEN)
      assert.deepEqual(idsOf((await poll(store, { scope })).leads), ids, JSON.stringify(scope));
  }),

  check('pages: without since, a user sees the same leads, newest first', async ({ store }) => {
    await fill(store);
    for (const [scope, ids] of SEEN) {
      const { leads } = await store.readPage({ scope, limit: 100 });
      assert.deepEqual(idsOf(leads), [...ids].reverse(), JSON.stringify(scope));
    }
  }),

  check(
    'pages: the limit keeps the newest without since, and those that follow with it',
    async ({ store }) => {
      await fill(store);
      for (const [scope, ids] of SEEN)
        for (const limit of [1, 2, 3]) {
          const newest = await store.readPage({ scope, limit });
          assert.deepEqual(idsOf(newest.leads), [...ids].reverse().slice(0, limit));
          const following = await poll(store, { scope, limit });
          assert.deepEqual(idsOf(following.leads), ids.slice(0, limit));
        }
    },
  ),

  check('pages: since is strict, to the millisecond', async ({ store }) => {
    await fill(store);
    for (const [scope, ids] of SEEN) {
      const { leads } = await poll(store, { scope });
      for (const [index, { createdAt }] of leads.entries()) {
        const after = await poll(store, { scope, since: createdAt });
        assert.deepEqual(idsOf(after.leads), ids.slice(index + 1));
        const from = await poll(store, { scope, since: createdAt - 1 });
        assert.deepEqual(idsOf(from.leads), ids.slice(index));
      }
    }
  }),

  check(
    'pages: an empty page without since gives the last stamp of the company',
    async ({ store, clock, reopen }) => {
      await apply(store, ACME, GLOBEX);
      const read = (from: Store, scope: LeadScope) => from.readPage({ scope, limit: 100 });
      assert.equal((await read(store, branch('west'))).lastStamp, undefined);
      const [createdAt] = await stamp(store, [lead('1', { branchId: 'south' })]);
      for (const scope of [branch('west'), branch('north'), department('sales')])
        assert.equal((await read(store, scope)).lastStamp, createdAt, JSON.stringify(scope));
      assert.equal((await read(store, { level: 'COMPANY', companyId: 'globex' })).lastStamp, undefined);
      clock.now -= 3_600_000;
      assert.equal((await read(await reopen(), branch('west'))).lastStamp, createdAt);
    },
  ),

  check('pages: a since long before the first lead or in the far future is allowed', async ({ store }) => {
    await fill(store);
    assert.equal((await poll(store, { since: Date.UTC(1, 0) })).leads.length, 6);
    assert.deepEqual((await poll(store, { since: Date.UTC(9999, 11, 31) })).leads, []);
  }),

  check('pages: a client that follows them page by page gets every lead once', async ({ store }) => {
    await fill(store);
    for (const [scope, ids] of SEEN) {
      const met: string[] = [];
      let since = 0;
      for (const _ of ids) {
        const { leads } = await poll(store, { scope, since, limit: 2 });
        met.push(...idsOf(leads));
        since = leads.at(-1)?.createdAt ?? since;
      }
      assert.deepEqual(met, ids, JSON.stringify(scope));
    }
  }),

  check('pages: a lead that was moved is in the pages of its new place', async ({ store }) => {
    await fill(store);
    await stamp(store, [lead('sales', { branchId: 'south' })]);
    assert.deepEqual(idsOf((await poll(store, { scope: branch('south') })).leads), ['sales', 'south']);
    assert.deepEqual(idsOf((await poll(store, { scope: department('sales') })).leads), ['sales-2']);
  }),
];
