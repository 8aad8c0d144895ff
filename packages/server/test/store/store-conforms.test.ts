import { describe, it } from 'vitest';
import { type MakeDatabase, storeConformance } from '../../../store-conformance/src/index.ts';
import { makeTestDatabase } from '../../../testing/harness/database.ts';

const makeDatabase: MakeDatabase = async () => {
  const { openStore, deleteLead } = await makeTestDatabase();
  return { openStore, deleteLead, remove: async () => undefined };
};

describe('the store', () => {
  for (const check of storeConformance) it(check.name, () => check.run(makeDatabase));
});
