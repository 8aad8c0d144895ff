import assert from 'node:assert/strict';
import type { LeadRecord } from 'leadtap';
import { DEFAULT_LEAD_FIELDS } from '../../server/src/leads/row.ts';
import { check } from './check.ts';
import { FIELD_NAMES, FULL, fieldsOf } from './fields.ts';
import { ACME, ALL_OF_ACME, apply, find, GLOBEX, idsOf, lead, poll, stamp, write } from './sample.ts';

const frozen = ({ id, createdAt, automation_trigger_id, automation_created_at }: LeadRecord) => ({
  id,
  createdAt,
  automation_trigger_id,
  automation_created_at,
});

export const updateChecks = [
  check('D4: an update changes updatedAt, and not what identifies the lead', async ({ store, clock }) => {
    await apply(store, ACME);
    const [createdAt] = await stamp(store, [lead('1')]);
    const before = await find(store, '1');
    assert.equal(before.createdAt, createdAt);
    assert.equal(before.updatedAt, createdAt);
    assert.equal(before.automation_created_at, createdAt);
    clock.now += 60_000;
    const changed = lead('1', { branchId: 'south', statusValue: 'WON', fields: { firstName: 'Ada' } });
    await stamp(store, [changed]);
    const after = await find(store, '1');
    assert.deepEqual(frozen(after), frozen(before));
    assert.equal(after.updatedAt, clock.now);
    assert.deepEqual([after.branchName, after.status.value, after.firstName], ['South', 'WON', 'Ada']);
  }),

  check('D4: updatedAt never decreases, and is never before createdAt', async ({ store, clock }) => {
    await apply(store, ACME);
    const [createdAt = 0] = await stamp(store, [lead('1')]);
    await stamp(store, [lead('1')]);
    assert.equal((await find(store, '1')).updatedAt, createdAt);
    clock.now += 500;
    await stamp(store, [lead('1')]);
    clock.now -= 100;
    await stamp(store, [lead('1')]);
    assert.equal((await find(store, '1')).updatedAt, clock.now + 100);
  }),

  check('D4: an updated lead is not delivered again', async ({ store, clock }) => {
    await apply(store, ACME);
    const stamps = await stamp(store, [lead('1'), lead('2')]);
    clock.now += 1000;
    await stamp(store, [lead('1', { fields: { firstName: 'Ada' } })]);
    assert.deepEqual((await poll(store, { since: stamps[1] ?? 0 })).leads, []);
    assert.deepEqual(idsOf((await poll(store)).leads), ['1', '2']);
    assert.deepEqual(await stamp(store, [lead('3')]), [clock.now + 1]);
  }),

  check('a lead with onlyUpdate is updated, but not added', async ({ store }) => {
    await apply(store, ACME);
    await stamp(store, [lead('known', { fields: { firstName: 'Ada' } })]);
    const update = (id: string) =>
      ({ companyId: 'acme', id, statusValue: 'WON', onlyUpdate: true, fields: {} }) as const;
    const problem = { field: 'id', reason: 'no-content', value: 'new' };
    const [known, unknown] = await write(store, [update('known'), update('new')]);
    assert.equal(known?.kind, 'updated');
    assert.deepEqual(unknown, { kind: 'rejected', problem });
    assert.deepEqual(
      (await store.planLeads([update('known'), update('new')])).map(({ kind }) => kind),
      ['updated', 'rejected'],
    );
    const outcome = await store.writeAllLeads([update('known'), update('new')], ALL_OF_ACME);
    assert(outcome.kind === 'rejected');
    assert.deepEqual(outcome.problems, [[], [problem]]);
    assert.deepEqual(idsOf((await poll(store)).leads), ['known']);
    assert.equal((await find(store, 'known')).status.value, 'WON');
    const [added, changed] = await write(store, [lead('both'), update('both')]);
    assert.deepEqual([added?.kind, changed?.kind], ['added', 'updated']);
  }),

  check('D5: the same id in the same company is the same lead', async ({ store, openAnother }) => {
    await apply(store, ACME);
    const [first] = await write(store, [lead('1')]);
    const [again] = await write(await openAnother(), [lead('1')]);
    assert(first?.kind === 'added' && again?.kind === 'updated');
    assert.deepEqual({ ...again, kind: 'added' }, first);
    assert.equal((await poll(store)).leads.length, 1);
  }),

  check('D5: the same id twice in one batch is one lead with the later content', async ({ store }) => {
    await apply(store, ACME);
    const results = await write(store, [
      lead('1', { fields: { firstName: 'Ada', lastName: 'King' } }),
      lead('1', { fields: { lastName: 'Lovelace' } }),
    ]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['added', 'updated'],
    );
    const { firstName, lastName } = await find(store, '1');
    assert.deepEqual([firstName, lastName], ['Ada', 'Lovelace']);
  }),

  check(
    'D5: the same id written by two stores at the same time is one lead',
    async ({ store, openAnother }) => {
      await apply(store, ACME);
      const other = await openAnother();
      const results = await Promise.all(
        [store, other, store, other].map((writer) => write(writer, [lead('1')])),
      );
      const kinds = results.flat().map(({ kind }) => kind);
      assert.deepEqual(kinds.sort(), ['added', 'updated', 'updated', 'updated']);
      assert.equal((await poll(store)).leads.length, 1);
    },
  ),

  check('D5: the same id in another company is another lead', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const results = await write(store, [lead('1'), lead('1', { companyId: 'globex' })]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['added', 'added'],
    );
  }),

  check('D5: an update keeps absent fields', async ({ store }) => {
    await apply(store, ACME);
    await write(store, [lead('1', { fields: FULL })]);
    for (const name of FIELD_NAMES) {
      await write(store, [lead('1', { fields: { [name]: DEFAULT_LEAD_FIELDS[name] } })]);
      assert.deepEqual(fieldsOf(await find(store, '1')), { ...FULL, [name]: DEFAULT_LEAD_FIELDS[name] });
      await write(store, [lead('1', { fields: { [name]: FULL[name] } })]);
    }
  }),

  check('D5: custom fields and images are replaced as a whole', async ({ store }) => {
    await apply(store, ACME);
    await write(store, [lead('1', { fields: FULL })]);
    await write(store, [lead('1', { fields: { customFields: { source: 'phone' }, images: [] } })]);
    const { customFields, images } = await find(store, '1');
    assert.deepEqual({ customFields, images }, { customFields: { source: 'phone' }, images: [] });
  }),
];
