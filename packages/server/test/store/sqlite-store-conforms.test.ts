import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { type MakeDatabase, storeConformance } from 'leadtap/conformance';
import { describe, it } from 'vitest';
import { tempFolder } from '../harness/temp-folder.ts';

const makeDatabase: MakeDatabase = async () => {
  const file = join(tempFolder(), 'leadtap.db');
  return { openStore: (options) => openSqliteStore({ file, ...options }), remove: async () => undefined };
};

describe('the SQLite store', () => {
  for (const check of storeConformance) it(check.name, () => check.run(makeDatabase));
});
