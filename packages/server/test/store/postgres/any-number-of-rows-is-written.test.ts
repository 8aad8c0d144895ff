import { expect, onTestFinished, test } from 'vitest';
import { bare, user } from '../../../../store-conformance/src/sample.ts';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';

/** More than one statement takes. */
const MANY = 5001;
const ids = Array.from({ length: MANY }, (_, index) => `id-${index}`);

test('an organisation file of many users is applied as a whole, and known again', async () => {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  const organisation = { companies: [bare('acme', { users: ids.map((id) => user(id)) })] };
  expect(await store.applyOrganisation(organisation)).toMatchObject({
    changes: { users: { created: MANY, updated: 0, unchanged: 0 } },
  });
  expect(await store.applyOrganisation(organisation)).toMatchObject({
    changes: { users: { created: 0, updated: 0, unchanged: MANY } },
  });
  expect(await store.listUsers(undefined, MANY + 1)).toHaveLength(MANY);
});
