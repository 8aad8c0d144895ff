import fc from 'fast-check';
import type { Store } from 'leadtap';
import { beforeAll, expect, test, vi } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { propertyRuns } from '../../../testing/vitest/nightly.ts';
import { untilChangesAreTracked } from './support/change-tracking.ts';
import { begin, commands } from './support/commands.ts';
import { type Instance, serve } from './support/instances.ts';
import { connectLeadSql } from './support/lead-sql.ts';
import { Model, type Real } from './support/model.ts';

const cleanUps: (() => unknown)[] = [];
const whenDone = (cleanUp: () => unknown) => void cleanUps.unshift(cleanUp);
const cachingStores: Store[] = [];
let real: Real;

/** Nothing that is read of it can be cached: everything may have changed, and all companies are busy. */
const withoutCache = (store: Store): Store => ({
  ...store,
  changeTracking: {
    ...store.changeTracking,
    async revalidate(request) {
      const revalidation = await store.changeTracking.revalidate(request, undefined);
      const companies = revalidation.accounts.flatMap(({ user }) => user?.companyId ?? []);
      return { ...revalidation, busy: new Set([...request.companies, ...companies]) };
    },
  },
});

/** Two instances of the service and the writer have a store each, as separate processes have. */
beforeAll(async () => {
  const database = await makeTestDatabase(whenDone);
  const open = async () => {
    const store = await database.openStore();
    whenDone(() => store.close());
    return store;
  };
  const writer = await open();
  await untilChangesAreTracked(writer);
  const instances: Instance[] = [];
  for (const store of [await open(), await open()]) {
    cachingStores.push(store);
    instances.push(await serve(store, whenDone));
  }
  const reference = await serve(withoutCache(await open()), whenDone);
  real = { instances, reference, writer, sql: await connectLeadSql(database, whenDone) };
  return async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

let runs = 0;

test('after every change, the next poll of each instance is answered as without a cache', async () => {
  const reads = cachingStores.map(({ changeTracking }) => vi.spyOn(changeTracking, 'readLeads'));
  const revalidations = cachingStores.map(({ changeTracking }) => vi.spyOn(changeTracking, 'revalidate'));
  const sequences = fc.commands([commands], { maxCommands: 12, size: 'max' });
  await fc.assert(
    fc.asyncProperty(sequences, async (sequence) => {
      runs += 1;
      const model = new Model(runs);
      await begin(model, real);
      await fc.asyncModelRun(() => ({ model, real }), sequence);
    }),
    { numRuns: propertyRuns(8) },
  );
  const times = (spies: typeof reads | typeof revalidations) =>
    spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  expect(times(revalidations)).toBeGreaterThan(200);
  expect(times(reads)).toBeLessThan(times(revalidations));
});
