import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LeadRecord } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

const ROUNDS = 30;
const ACME = { level: 'COMPANY', companyId: 'acme' } as const;

test('with batches and SQL writers at the same time, a client that keeps the last createdAt gets each lead once', async () => {
  const database = await databaseWithCompanies();
  const store = await database.openStore();
  onTestFinished(() => store.close());
  const batches = async (writer: number) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const companies = ['acme', 'globex', 'acme'];
      await store.writeLeads(
        companies.map((companyId, n) => ({ companyId, id: `batch-${writer}-${round}-${n}`, fields: {} })),
      );
    }
  };
  const statements = async (writer: number) => {
    const client = await connectSql(database.url);
    for (let round = 0; round < ROUNDS; round += 1) {
      await client.query('BEGIN');
      for (const n of [0, 1]) {
        await client.query(
          `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'sql-${writer}-${round}-${n}')`,
        );
        await nextTurn();
      }
      await client.query(round % 5 === 0 ? 'ROLLBACK' : 'COMMIT');
    }
  };
  const writers = [batches(0), batches(1), statements(0), statements(1), statements(2)];
  let isWriting = true;
  const written = Promise.all(writers).then(() => {
    isWriting = false;
  });

  const seen: LeadRecord[] = [];
  let since = 0;
  for (let isLast = false; ; ) {
    const { leads } = await store.readPage({ scope: ACME, since, limit: 7 });
    seen.push(...leads);
    since = leads.at(-1)?.createdAt ?? since;
    if (leads.length > 0) continue;
    if (isLast) break;
    isLast = !isWriting;
    await nextTurn();
  }
  await written;
  const { leads: all } = await store.readPage({ scope: ACME, since: 0, limit: 100_000 });
  expect(seen.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(all).toHaveLength(2 * ROUNDS * 2 + 3 * (ROUNDS - ROUNDS / 5) * 2);
  expect(new Set(all.map(({ createdAt }) => createdAt)).size).toBe(all.length);
});
