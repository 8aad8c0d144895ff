import { expect, onTestFinished, test } from 'vitest';
import { bare, user } from '../../../../store-conformance/src/sample.ts';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';

/** More than one statement takes. */
const MANY = 5001;
const ids = Array.from({ length: MANY }, (_, index) => `id-${index}`);

async function openStore() {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  return store;
}

test('an organisation file of many users is applied as a whole, and known again', async () => {
  const store = await openStore();
  const organisation = { companies: [bare('acme', { users: ids.map((id) => user(id)) })] };
  expect(await store.applyOrganisation(organisation)).toMatchObject({
    changes: { users: { created: MANY, updated: 0, unchanged: 0 } },
  });
  expect(await store.applyOrganisation(organisation)).toMatchObject({
    changes: { users: { created: 0, updated: 0, unchanged: MANY } },
  });
  expect(await store.listUsers(undefined, MANY + 1)).toHaveLength(MANY);
});

test('a company with more departments than a call takes arguments is applied again', async () => {
  const store = await openStore();
  const departments = Array.from({ length: 130_000 }, (_, index) => ({ id: `d-${index}`, name: 'D' }));
  const organisation = {
    companies: [bare('acme', { branches: [{ id: 'north', name: 'North', departments }] })],
  };
  await store.applyOrganisation(organisation);
  expect(await store.applyOrganisation({ companies: [bare('acme')] })).toMatchObject({
    changes: { companies: { unchanged: 1 } },
  });
});

test('many tokens are recorded at once', async () => {
  const store = await openStore();
  const grant = { issuedAt: 1_767_225_600_000, expiresAt: 1_775_001_600_000, scopes: ['leads:read'] };
  await store.recordTokens(ids.map((id) => ({ id, userId: 'ada', name: null, ...grant })));
  expect(await store.listTokens('ada')).toHaveLength(MANY);
});
