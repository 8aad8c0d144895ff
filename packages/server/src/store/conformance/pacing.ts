import assert from 'node:assert/strict';
import { check, START } from './check.ts';
import { ACME, apply, batches, GLOBEX, lead, poll, stamp, write } from './sample.ts';

const burst = (size: number, prefix = 'burst') => batches(prefix, 1, size).flat();

export const pacingChecks = [
  check('pacing: a burst may run ahead by as much as is allowed, and no further', async ({ store }) => {
    await apply(store, ACME);
    assert.equal((await stamp(store, burst(100), { maxAheadMs: 100 })).at(-1), START + 100);
    const outcome = await store.writeLeads([lead('one-more')], { maxAheadMs: 100 });
    assert.deepEqual(outcome, { kind: 'too-far-ahead', waitMs: 1 });
  }),

  check('pacing: what is too far ahead leaves no trace', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, [lead('known', { fields: { firstName: 'Ada' } })]);
    const before = await poll(store);
    const { latestStamp } = await store.status();
    const batch = [
      lead('known', { fields: { firstName: 'Eve' } }),
      lead('other', { companyId: 'globex' }),
      ...burst(100),
    ];
    const outcome = await store.writeLeads(batch, { maxAheadMs: 50 });
    assert.deepEqual(outcome, { kind: 'too-far-ahead', waitMs: 51 });
    assert.deepEqual(await poll(store), before);
    assert.deepEqual((await poll(store, { scope: { level: 'COMPANY', companyId: 'globex' } })).leads, []);
    assert.equal((await store.status()).latestStamp, latestStamp);
  }),

  check('pacing: after the wait the same batch is taken', async ({ store, clock }) => {
    await apply(store, ACME);
    await stamp(store, burst(100));
    const batch = burst(50, 'next');
    const outcome = await store.writeLeads(batch, { maxAheadMs: 60 });
    assert.deepEqual(outcome, { kind: 'too-far-ahead', waitMs: 90 });
    clock.now += 90;
    assert.equal((await stamp(store, batch, { maxAheadMs: 60 }))[0], START + 101);
  }),

  check('pacing: one company far ahead does not hold up another', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, burst(100));
    assert.deepEqual(await stamp(store, [lead('1', { companyId: 'globex' })], { maxAheadMs: 1 }), [
      START + 1,
    ]);
  }),

  check(
    'pacing: updates and rejections need no stamp, so they are never too far ahead',
    async ({ store }) => {
      await apply(store, ACME);
      await stamp(store, burst(100));
      const results = await write(store, [lead('burst-0-1'), lead('x', { branchId: 'west' })], {
        maxAheadMs: 0,
      });
      assert.deepEqual(
        results.map(({ kind }) => kind),
        ['updated', 'rejected'],
      );
    },
  ),

  check('pacing: a company that is ahead does not hold up its own history', async ({ store }) => {
    await apply(store, ACME);
    await stamp(store, burst(100));
    const old = lead('old', { createdAt: START - 1000 });
    assert.deepEqual(await stamp(store, [old], { historical: true, maxAheadMs: 50 }), [START - 1000]);
    assert.deepEqual(await stamp(store, [lead('next')]), [START + 101]);
  }),

  check(
    'pacing: history that was refused keeps its time when it is tried again',
    async ({ store, clock }) => {
      await apply(store, ACME);
      const ahead = { historical: true, maxAheadMs: 10 };
      const leads = ['a', 'b'].map((id) => lead(id, { createdAt: START + 500 }));
      const outcome = await store.writeLeads(leads, ahead);
      assert.deepEqual(outcome, { kind: 'too-far-ahead', waitMs: 491 });
      clock.now += 1000;
      assert.deepEqual(await stamp(store, leads, ahead), [START + 500, START + 501]);
    },
  ),
];
