import assert from 'node:assert/strict';
import type { LeadInput, PlacementProblem, Store } from 'leadtap';
import { check } from './check.ts';
import { ACME, apply, find, GLOBEX, lead, poll, write } from './sample.ts';

type Input = Partial<LeadInput>;

async function placeOf(store: Store, id: string): Promise<(string | null)[]> {
  const { branchName, departmentName } = await find(store, id);
  return [branchName, departmentName];
}

const REJECTED: readonly [Input, PlacementProblem][] = [
  [{ companyId: 'nowhere' }, { field: 'companyId', reason: 'unknown', value: 'nowhere' }],
  [{ branchId: 'west' }, { field: 'branchId', reason: 'unknown', value: 'west' }],
  [{ departmentId: 'it' }, { field: 'departmentId', reason: 'unknown', value: 'it' }],
  [
    { companyId: 'globex', departmentId: 'service' },
    { field: 'departmentId', reason: 'unknown', value: 'service' },
  ],
  [
    { branchId: 'south', departmentId: 'sales' },
    { field: 'departmentId', reason: 'in-another-branch', value: 'sales', branchId: 'north' },
  ],
  [
    { statusValue: 'UNKNOWN' },
    {
      field: 'statusValue',
      reason: 'unknown',
      value: 'UNKNOWN',
      allowed: ['NEW', 'CONTACTED', 'APPOINTMENT', 'QUOTED', 'WON', 'LOST'],
    },
  ],
];

const ADDED: readonly [Input, readonly [string | null, string | null]][] = [
  [{}, [null, null]],
  [{ branchId: null, departmentId: null }, [null, null]],
  [{ branchId: 'south' }, ['South', null]],
  [{ departmentId: 'service' }, ['North', 'Service']],
  [{ branchId: 'north', departmentId: 'sales' }, ['North', 'Sales']],
];

/** Changes of a lead in the department Sales of the branch North, with the resulting place. */
const MOVED: readonly [Input, readonly [string | null, string | null]][] = [
  [{}, ['North', 'Sales']],
  [{ branchId: 'north' }, ['North', 'Sales']],
  [{ departmentId: 'service' }, ['North', 'Service']],
  [{ departmentId: null }, ['North', null]],
  [{ branchId: 'south' }, ['South', null]],
  [{ departmentId: 'south-sales' }, ['South', 'Sales']],
  [{ branchId: null }, [null, null]],
];

export const placementChecks = [
  check(
    'placement: a lead with an unknown place or status is rejected with the reason',
    async ({ store }) => {
      await apply(store, ACME, GLOBEX);
      for (const [input, problem] of REJECTED)
        assert.deepEqual(await write(store, [lead('1', input)]), [{ kind: 'rejected', problem }]);
      assert.deepEqual((await poll(store)).leads, []);
    },
  ),

  check('placement: a rejected lead does not affect the other leads of its batch', async ({ store }) => {
    await apply(store, ACME);
    const results = await write(store, [lead('a'), lead('b', { branchId: 'west' }), lead('c')]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['added', 'rejected', 'added'],
    );
    const { leads } = await poll(store);
    assert.deepEqual(
      leads.map(({ id }) => id),
      ['a', 'c'],
    );
  }),

  check('placement: an update with an unknown place changes nothing', async ({ store }) => {
    await apply(store, ACME);
    await write(store, [lead('1', { branchId: 'north', fields: { firstName: 'Ada' } })]);
    const before = await find(store, '1');
    const [result] = await write(store, [lead('1', { branchId: 'west', fields: { firstName: 'Eve' } })]);
    assert.equal(result?.kind, 'rejected');
    assert.deepEqual(await find(store, '1'), before);
  }),

  check('placement: a department determines the branch', async ({ store }) => {
    await apply(store, ACME);
    for (const [index, [input, place]] of ADDED.entries()) {
      await write(store, [lead(`${index}`, input)]);
      assert.deepEqual(await placeOf(store, `${index}`), place, JSON.stringify(input));
    }
  }),

  check('placement: a lead that moves loses its department of the old branch', async ({ store }) => {
    await apply(store, ACME);
    for (const [index, [input, place]] of MOVED.entries()) {
      await write(store, [lead(`${index}`, { departmentId: 'sales' }), lead(`${index}`, input)]);
      assert.deepEqual(await placeOf(store, `${index}`), place, JSON.stringify(input));
    }
  }),

  check('placement: a new lead gets the status NEW if it exists, else the first one', async ({ store }) => {
    const status = (value: string) => ({ value, label: value, color: '#000000', final: false });
    await apply(store, { ...ACME, statuses: [status('OPEN'), status('NEW')] });
    await write(store, [lead('1')]);
    assert.deepEqual((await find(store, '1')).status, status('NEW'));
    await apply(store, { ...ACME, statuses: [status('LATER'), status('AFTER'), status('NEWER')] });
    await write(store, [lead('2', { statusValue: 'AFTER' }), lead('3', { statusValue: 'NEWER' })]);
    assert.equal((await find(store, '2')).status.value, 'AFTER');
    await write(store, [lead('2'), lead('3', { statusValue: 'LATER' })]);
    assert.equal((await find(store, '2')).status.value, 'AFTER', 'an update without a status keeps it');
    assert.equal((await find(store, '3')).status.value, 'LATER');
  }),

  check('placement: a status is found by its value, or else by its label in any case', async ({ store }) => {
    const status = (value: string, label: string) => ({ value, label, color: '#000000', final: false });
    const statuses = [status('NEW', 'Neu'), status('WON', 'Gewonnen'), status('LATER', 'won')];
    await apply(store, { ...ACME, statuses });
    await write(store, [
      lead('1', { statusValue: 'gewonnen' }),
      lead('2', { statusValue: ' Neu ' }),
      lead('3', { statusValue: 'WON' }),
      lead('4', { statusValue: 'Won' }),
      lead('5', { statusValue: 'later' }),
    ]);
    const values = ['1', '2', '3', '4', '5'].map(async (id) => (await find(store, id)).status.value);
    assert.deepEqual(await Promise.all(values), ['WON', 'NEW', 'WON', 'LATER', 'LATER']);
    await write(store, [lead('1', { statusValue: 'neu' })]);
    assert.equal((await find(store, '1')).status.value, 'NEW', 'also in an update');
    const { results } = await store.writeLeads([lead('6', { statusValue: 'Verloren' })]);
    assert.equal(results[0]?.kind, 'rejected');
  }),
];
