import assert from 'node:assert/strict';
import { check, START } from './check.ts';
import { ACME, apply, find, GLOBEX, idsOf, lead, poll, stamp, write } from './sample.ts';

const HISTORICAL = { historical: true };
const LONG_AGO = Date.UTC(2019, 6, 1);

const past = (id: string, createdAt: number, companyId = 'acme') => lead(id, { companyId, createdAt });

export const historyChecks = [
  check(
    'history: a lead keeps its createdAt, and automation_created_at is the time of the import',
    async ({ store, clock }) => {
      await apply(store, ACME);
      assert.deepEqual(await stamp(store, [past('1', LONG_AGO)], HISTORICAL), [LONG_AGO]);
      const { createdAt, updatedAt, automation_created_at } = await find(store, '1');
      assert.deepEqual([createdAt, updatedAt, automation_created_at], [LONG_AGO, LONG_AGO, clock.now]);
    },
  ),

  check(
    'history: it pushes no stamp more than a minute ahead of the clock, whatever the last stamp is',
    async ({ store, clock }) => {
      await apply(store, ACME);
      const minute = 60_000;
      // A step of half a minute each: the limit must not move with the last stamp.
      const results = await write(
        store,
        [1, 2, 3, 4].map((step) => past(String(step), clock.now + step * (minute / 2))),
        HISTORICAL,
      );
      assert.deepEqual(
        results.map(({ kind }) => kind),
        ['added', 'added', 'rejected', 'rejected'],
      );
      const value = new Date(clock.now + 1.5 * minute).toISOString();
      assert.deepEqual(results[2], {
        kind: 'rejected',
        problem: { field: 'createdAt', reason: 'in-future', value },
      });
      assert.deepEqual(await stamp(store, [lead('next')]), [clock.now + minute + 1]);
      // The lead exists, so this is an update, and the time is ignored.
      const again = await write(store, [past('1', clock.now + 9 * minute)], HISTORICAL);
      assert.equal(again[0]?.kind, 'updated');
    },
  ),

  check('history: times before 1970 are supported', async ({ store }) => {
    await apply(store, ACME);
    const before = Date.UTC(1965, 0, 1, 12);
    await stamp(store, [past('old', before), past('older', before - 1)], HISTORICAL);
    assert.deepEqual(idsOf((await poll(store)).leads), ['older', 'old']);
  }),

  check(
    'history: leads with the same time get the next free milliseconds, in their order',
    async ({ store }) => {
      await apply(store, ACME, GLOBEX);
      await stamp(store, [past('taken', LONG_AGO + 2)], HISTORICAL);
      const equal = ['a', 'b', 'c', 'd'].map((id) => past(id, LONG_AGO));
      const moved = [LONG_AGO, LONG_AGO + 1, LONG_AGO + 3, LONG_AGO + 4];
      assert.deepEqual(await stamp(store, equal, HISTORICAL), moved);
      assert.deepEqual(await stamp(store, [past('e', LONG_AGO, 'globex')], HISTORICAL), [LONG_AGO]);
    },
  ),

  check(
    'history: two stores that import leads with the same time share no millisecond',
    async ({ store, openAnother }) => {
      await apply(store, ACME);
      const other = await openAnother();
      const stamps: number[] = [];
      for (const [index, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
        const writer = index % 2 === 0 ? store : other;
        stamps.push(...(await stamp(writer, [past(id, LONG_AGO)], HISTORICAL)));
      }
      assert.deepEqual(
        stamps,
        [0, 1, 2, 3, 4].map((ms) => LONG_AGO + ms),
      );
    },
  ),

  check('history: thousands of leads may have the same time', async ({ store }) => {
    await apply(store, ACME);
    for (let batch = 0; batch < 5; batch += 1) {
      const equal = Array.from({ length: 1000 }, (_, index) => past(`${batch}-${index}`, LONG_AGO));
      const stamps = await stamp(store, equal, HISTORICAL);
      assert.deepEqual([stamps[0], stamps.at(-1)], [LONG_AGO + batch * 1000, LONG_AGO + batch * 1000 + 999]);
    }
  }),

  check('history: it changes neither later stamps nor what pollers get', async ({ store, clock }) => {
    await apply(store, ACME);
    const [first = 0] = await stamp(store, [lead('1')]);
    clock.now += 1000;
    const { readAt } = await poll(store);
    await stamp(store, [past('old', LONG_AGO), past('same', first)], HISTORICAL);
    assert.deepEqual((await poll(store, { since: readAt })).leads, []);
    assert.deepEqual(await stamp(store, [lead('2')]), [clock.now + 1]);
    assert.deepEqual(idsOf((await poll(store, { since: readAt })).leads), ['2']);
  }),

  check(
    'history: stamps stay unique and increasing after history with the current time',
    async ({ store, clock }) => {
      await apply(store, ACME);
      const equal = Array.from({ length: 20 }, (_, index) => past(`old-${index}`, clock.now));
      const stamps = await stamp(store, equal, HISTORICAL);
      assert.equal(stamps.at(-1), START + 19);
      stamps.push(...(await stamp(store, [lead('1'), lead('2')])));
      const { leads } = await poll(store);
      assert.deepEqual(
        leads.map(({ createdAt }) => createdAt),
        stamps,
        'a stamp is later than those of all existing leads',
      );
    },
  ),

  check('history: an existing id is an update, and its createdAt is kept', async ({ store }) => {
    await apply(store, ACME);
    const [createdAt = 0] = await stamp(store, [lead('1')]);
    const [result] = await write(store, [past('1', LONG_AGO)], HISTORICAL);
    assert.deepEqual(result, { kind: 'updated', id: '1', createdAt });
    assert.equal((await find(store, '1')).createdAt, createdAt);
  }),

  check(
    'history: createdAt is ignored for leads that are not imported as history',
    async ({ store, clock }) => {
      await apply(store, ACME);
      assert.deepEqual(await stamp(store, [past('1', LONG_AGO)]), [clock.now + 1]);
    },
  ),

  check('history: a lead without a createdAt is stamped like a new one', async ({ store, clock }) => {
    await apply(store, ACME);
    assert.deepEqual(await stamp(store, [lead('1')], HISTORICAL), [clock.now + 1]);
    assert.equal((await find(store, '1')).automation_created_at, clock.now + 1);
  }),
];
