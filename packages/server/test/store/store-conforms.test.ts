import { type MakeDatabase, storeConformance } from 'leadtap/conformance';
import { describe, it } from 'vitest';
import { makeTestDatabase } from '../harness/database.ts';

const makeDatabase: MakeDatabase = async () => {
  const { openStore, deleteLead } = await makeTestDatabase();
  return { openStore, deleteLead, remove: async () => undefined };
};

describe('the store', () => {
  for (const check of storeConformance) it(check.name, () => check.run(makeDatabase));
});
