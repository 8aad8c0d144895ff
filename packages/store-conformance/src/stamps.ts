import assert from 'node:assert/strict';
import { check } from './check.ts';
import { ACME, apply, batches, GLOBEX, lead, poll, stamp } from './sample.ts';

function assertIncreasing(stamps: readonly number[]): void {
  for (const [index, at] of stamps.entries()) {
    assert(Number.isInteger(at), `${at} is a whole millisecond`);
    const before = stamps[index - 1] ?? Number.NEGATIVE_INFINITY;
    assert(at > before, `${at} comes after ${before}`);
  }
}

export const stampChecks = [
  check('D1: the stamps of one batch are unique and increase in its order', async ({ store, clock }) => {
    await apply(store, ACME);
    const stamps = await stamp(store, batches('lead', 1, 500).flat());
    assertIncreasing(stamps);
    assert((stamps[0] ?? 0) > clock.now, 'a stamp is later than every answer before it');
    assert(
      (stamps.at(-1) ?? 0) <= clock.now + 500,
      'stamps are ahead of the clock by no more than the number of leads',
    );
  }),

  check('D1: batches of two stores within one millisecond share no stamp', async ({ store, openAnother }) => {
    await apply(store, ACME);
    const other = await openAnother();
    const stamps: number[] = [];
    for (const [index, batch] of batches('lead', 20, 3).entries())
      stamps.push(...(await stamp(index % 2 === 0 ? store : other, batch)));
    assertIncreasing(stamps);
  }),

  check(
    'D1: the stamps of two stores that write at the same time are unique',
    async ({ store, openAnother }) => {
      await apply(store, ACME);
      const other = await openAnother();
      const written = await Promise.all([
        ...batches('a', 20, 3).map((batch) => stamp(store, batch)),
        ...batches('b', 20, 3).map((batch) => stamp(other, batch)),
      ]);
      assert.equal(new Set(written.flat()).size, 120);
      assertIncreasing((await poll(store)).leads.map(({ createdAt }) => createdAt));
    },
  ),

  check('D1, D2: stamps increase although the clock is set back', async ({ store, clock, reopen }) => {
    await apply(store, ACME);
    const stamps = await stamp(store, [lead('1')]);
    clock.now -= 3_600_000;
    stamps.push(...(await stamp(store, [lead('2'), lead('3')])));
    stamps.push(...(await stamp(await reopen(), [lead('4')])));
    assertIncreasing(stamps);
  }),

  check('D1: after a pause the stamps follow the clock again', async ({ store, clock }) => {
    await apply(store, ACME);
    await stamp(store, batches('lead', 1, 50).flat());
    clock.now += 60_000;
    assert.deepEqual(await stamp(store, [lead('later')]), [clock.now + 1]);
  }),

  check('D1: a burst of one company does not change the stamps of others', async ({ store, clock }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, batches('lead', 1, 50).flat());
    assert.deepEqual(await stamp(store, [lead('1', { companyId: 'globex' })]), [clock.now + 1]);
  }),

  check('D1: a batch may have leads of several companies', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const mixed = ['a', 'b', 'c', 'd'].map((id, index) =>
      lead(id, { companyId: index % 2 === 0 ? 'acme' : 'globex' }),
    );
    await stamp(store, mixed);
    for (const companyId of ['acme', 'globex']) {
      const { leads } = await poll(store, { scope: { level: 'COMPANY', companyId } });
      assert.equal(leads.length, 2);
      assertIncreasing(leads.map(({ createdAt }) => createdAt));
    }
  }),

  check('D1: a rejected lead and an update take no stamp', async ({ store, clock }) => {
    await apply(store, ACME);
    const leads = [lead('1'), lead('1'), lead('2', { branchId: 'west' }), lead('3')];
    const { results } = await store.writeLeads(leads).then((outcome) => {
      assert(outcome.kind === 'written');
      return outcome;
    });
    const stamps = results.flatMap((result) => (result.kind === 'added' ? [result.createdAt] : []));
    assert.deepEqual(stamps, [clock.now + 1, clock.now + 2]);
  }),

  check('D1: trigger ids are unique, also across companies, and at most 64 characters', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, batches('lead', 1, 200).flat());
    await stamp(
      store,
      batches('lead', 1, 200)
        .flat()
        .map((input) => ({ ...input, companyId: 'globex' })),
    );
    const pages = await Promise.all(
      ['acme', 'globex'].map((companyId) => poll(store, { scope: { level: 'COMPANY', companyId } })),
    );
    const triggerIds = pages.flatMap(({ leads }) => leads.map((found) => found.automation_trigger_id));
    assert.equal(new Set(triggerIds).size, 400);
    for (const id of triggerIds) assert(id.length >= 1 && id.length <= 64, id);
  }),

  check('D1: a lead without an id gets a unique one', async ({ store }) => {
    await apply(store, ACME);
    const anonymous = { companyId: 'acme', fields: {} };
    const results = await store.writeLeads([anonymous, anonymous, anonymous]);
    assert(results.kind === 'written');
    const ids = results.results.map((result) => (result.kind === 'added' ? result.id : ''));
    assert.equal(new Set(ids).size, 3);
    assert.deepEqual(
      (await poll(store)).leads.map(({ id }) => id),
      ids,
    );
  }),
];
