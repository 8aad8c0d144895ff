import assert from 'node:assert/strict';
import { check } from './check.ts';
import { ACME, apply, batches, GLOBEX, isRevoked, lead, poll, stamp } from './sample.ts';

export const databaseChecks = [
  check(
    'D6: everything acknowledged is readable after the store is opened again',
    async ({ store, clock, reopen }) => {
      await apply(store, ACME);
      await stamp(store, batches('lead', 1, 50).flat());
      await store.revokeToken('token');
      const before = await poll(store);
      const again = await reopen();
      assert.deepEqual(await poll(again), before);
      assert.equal((await again.findUser('boss'))?.companyId, 'acme');
      assert.equal(await isRevoked(again, 'token'), true);
      assert.deepEqual(await stamp(again, [lead('next')]), [clock.now + 51]);
    },
  ),

  check('D6: a batch that fails writes nothing', async ({ store }) => {
    await apply(store, ACME);
    await stamp(store, [lead('known')]);
    const before = await poll(store);
    // A cycle cannot be written as JSON, so it fails in any database.
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const broken = lead('broken', { fields: { customFields: cyclic } });
    await assert.rejects(store.writeLeads([lead('1'), broken, lead('2')]));
    assert.deepEqual(await poll(store), before);
    assert.equal((await stamp(store, [lead('1')])).length, 1);
  }),

  check('database: an empty batch is allowed', async ({ store }) => {
    assert.deepEqual(await store.writeLeads([]), { kind: 'written', results: [] });
  }),

  check('database: status returns the latest stamp of all companies', async ({ store, clock }) => {
    assert.equal((await store.status()).latestStamp, 0);
    await apply(store, ACME, GLOBEX);
    assert.equal((await store.status()).latestStamp, 0);
    await stamp(store, [lead('1'), lead('2'), lead('3', { companyId: 'globex' })]);
    const { engine, latestStamp } = await store.status();
    assert.equal(latestStamp, clock.now + 2);
    assert(engine.length > 0);
  }),

  check(
    'database: ping resolves while the store is open, and rejects after it is closed',
    async ({ store, reopen }) => {
      await store.ping();
      await apply(store, ACME);
      await store.ping();
      await (await reopen()).ping();
      await assert.rejects(store.ping());
    },
  ),
];
