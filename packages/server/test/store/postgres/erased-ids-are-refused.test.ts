import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { expect, test } from 'vitest';
import { connectSql, databaseWithCompanies, refusalOf } from './sql-client.ts';

const INSERT = `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'x')`;

async function withErasedLead() {
  const database = await databaseWithCompanies();
  const client = await connectSql(database.url);
  const store = await database.openStore();
  await client.query(INSERT);
  const found = await store.removal.findByIds(['x']);
  expect(await store.removal.erase(found)).toBe(1);
  return { client, store };
}

test.each([
  INSERT,
  `${INSERT} ON CONFLICT (company_id, id) DO UPDATE SET first_name = 'Ada'`,
  `${INSERT} ON CONFLICT DO NOTHING`,
  `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'y'), ('acme', 'x')`,
  `BEGIN; SET LOCAL leadtap.historical = 'on';
   INSERT INTO leadtap.leads (company_id, id, created_at) VALUES ('acme', 'x', '2024-05-01')`,
])('%s', async (statement) => {
  const { client, store } = await withErasedLead();
  const refusal = await refusalOf(client, statement);
  expect(refusal).toMatchObject({
    code: 'LT002',
    message: `lead 'x' of company 'acme' was erased`,
    hint: expect.stringContaining('leadtap leads import --allow-erased'),
  });
  await client.query('ROLLBACK');
  const page = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 10 });
  expect(page.leads).toEqual([]);
  await store.close();
});

test('COPY', async () => {
  const { client, store } = await withErasedLead();
  await store.close();
  const copy = client.query(copyFrom('COPY leadtap.leads (company_id, id) FROM STDIN'));
  await expect(pipeline(Readable.from(['acme\tx\n']), copy)).rejects.toMatchObject({ code: 'LT002' });
});

test('other ids, other companies, and ids that the database makes are accepted', async () => {
  const { client, store } = await withErasedLead();
  await store.close();
  for (const statement of [
    `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'X'), ('globex', 'x')`,
    `INSERT INTO leadtap.leads (company_id) VALUES ('acme')`,
  ])
    expect(await refusalOf(client, statement)).toBeUndefined();
});

test('a writer that waits for an erasure gets the refusal: the lead does not come back', async () => {
  const { client, store } = await withErasedLead();
  await client.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'z')`);
  const found = await store.removal.findByIds(['z']);
  await client.query('BEGIN');
  // The writer holds the lock of the company, so the erasure comes after it and deletes what it wrote.
  await client.query(`INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', 'z', 'Ada')`);
  const erasing = store.removal.erase(found);
  await client.query('COMMIT');
  expect(await erasing).toBe(1);
  expect(
    (await refusalOf(client, `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'z')`))?.code,
  ).toBe('LT002');
  await store.close();
});

test('the hash of an id is the SHA-256 that other programs compute', async () => {
  const { client, store } = await withErasedLead();
  await store.close();
  const { rows } = await client.query('SELECT id_hash FROM leadtap.erased_leads');
  expect(rows).toEqual([{ id_hash: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' }]);
});
