import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isRevoked } from '../../../../store-conformance/src/sample.ts';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';

test('ids are sorted by their bytes, whatever the language of the database', async () => {
  const { url } = await makeTestDatabase();
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  // An index has the collation of the column that it was made for.
  const { rows } = await client.query(
    `SELECT DISTINCT a.attrelid::regclass::text AS index, c.collname
       FROM pg_attribute AS a JOIN pg_collation AS c ON c.oid = a.attcollation
      WHERE a.attrelid IN ('leadtap.users_pkey'::regclass, 'leadtap.leads_id_key'::regclass)`,
  );
  expect(rows.map(({ collname }) => collname)).toEqual(['C', 'C']);
});

test('an id with a NUL is unknown, and no error', async () => {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  expect(await store.findUser('ada\0')).toBeUndefined();
  expect(await store.updateUser('ada\0', { plan: 'BASIC' })).toEqual({ kind: 'no-such-user' });
  expect(await store.removeUser('ada\0')).toBe(false);
  expect(await isRevoked(store, 'a\0')).toBe(false);
  expect(await store.findToken('a\0')).toBeUndefined();
  expect(await store.listTokens('ada\0')).toEqual([]);
});
