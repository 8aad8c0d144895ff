import assert from 'node:assert/strict';
import { type ConformanceCheck, check, type Setup } from './check.ts';
import { ACME, ALL_OF_ACME, apply, find, lead, stamp, write } from './sample.ts';

interface WithDelete extends Setup {
  /** Deletes a lead of Acme directly in the database. */
  remove(id: string): Promise<void>;
}

const checkWithDelete = (name: string, body: (setup: WithDelete) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    await apply(setup.store, ACME);
    await body({ ...setup, remove: (id) => setup.deleteLead('acme', id) });
  });

export const deletedLeadChecks = [
  checkWithDelete(
    'deleted leads: the next write of the id of a deleted lead adds it again',
    async ({ store, openAnother, remove }) => {
      const [first] = await stamp(store, [lead('1', { departmentId: 'sales' })]);
      await remove('1');
      const [again] = await write(store, [
        lead('1', { departmentId: 'sales', fields: { firstName: 'Ada' } }),
      ]);
      assert(again?.kind === 'added', `added, not ${again?.kind}`);
      assert(again.createdAt > (first ?? 0), `${again.createdAt} is after ${first}`);
      for (const reader of [store, await openAnother()]) {
        const found = await find(reader, '1');
        assert.deepEqual([found.createdAt, found.firstName], [again.createdAt, 'Ada']);
      }
    },
  ),

  checkWithDelete(
    'deleted leads: their stamps are not given again, and count as the last stamp',
    async ({ store, clock, remove, reopen }) => {
      const [, newest = 0] = await stamp(store, [lead('1'), lead('2')]);
      clock.now -= 3_600_000;
      for (const id of ['2', '1']) await remove(id);
      const reopened = await reopen();
      const empty = await reopened.readPage({ scope: ALL_OF_ACME, limit: 100 });
      assert.deepEqual([empty.leads, empty.lastStamp], [[], newest]);
      assert.deepEqual(await stamp(reopened, [lead('3')]), [newest + 1]);
    },
  ),
];
