import { type MakeDatabase, storeConformance } from '@leadtap/store-conformance';
import { describe, it } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';

const makeDatabase: MakeDatabase = async () => {
  const { openStore, deleteLead } = await makeTestDatabase();
  return { openStore, deleteLead, remove: async () => undefined };
};

describe('the store', () => {
  for (const check of storeConformance) it(check.name, () => check.run(makeDatabase));
});
