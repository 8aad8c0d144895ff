import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../faults/eventually.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

it('a request that another instance refuses again while it is removed stays', async () => {
  const database = await databaseWithCompanies();
  const store = await database.openStore();
  onTestFinished(() => store.close());
  const sender = { companyId: 'acme', userId: 'boss', source: null };
  const at = Date.now();
  const refused = {
    ...{ ...sender, id: 'a', tokenId: 'form', client: null, answerMap: null, timeZone: null },
    ...{ receivedAt: at, lastAt: at, times: 1, code: 'invalid-lead' as const, errors: [] },
    ...{ mediaType: 'application/json', body: Buffer.from('{}'), bodyHash: 'b' },
  };
  await store.refusedLeads.record([refused]);
  const other = await connectSql(database.url);
  await other.query(`BEGIN; UPDATE leadtap.refused_leads SET last_at = last_at + interval '1 second'`);
  const removed = store.refusedLeads.removeAccepted([{ ...sender, at, bodyHash: 'b' }]);
  await eventually(async () => {
    const { rows } = await other.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    expect(rows).toHaveLength(1);
  });
  await other.query('COMMIT');
  expect(await removed).toBe(0);
  expect(await store.refusedLeads.list({ limit: 9 })).toMatchObject([{ id: 'a', lastAt: at + 1000 }]);
});
