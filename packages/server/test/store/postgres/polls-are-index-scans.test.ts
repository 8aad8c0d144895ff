import { Client } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeTestDatabase } from '../../harness/database.ts';
import { ORGANISATION } from '../../harness/organisation.ts';

const LEADS = 5000;
const cleanUps: (() => void | Promise<void>)[] = [];
let client: Client;

/** Leads of one company in many branches, and no statistics: what a bulk load leaves. */
beforeAll(async () => {
  const database = await makeTestDatabase((cleanUp) => cleanUps.unshift(cleanUp));
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.close();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('ALTER TABLE leadtap.leads SET (autovacuum_enabled = off)');
  await client.query(`
    INSERT INTO leadtap.leads (company_id, department_id)
    SELECT 'acme', CASE WHEN n % 50 = 0 THEN 'sales' ELSE 'south-sales' END FROM generate_series(1, ${LEADS}) AS n`);
  await client.query(`
    LOAD 'auto_explain';
    SET auto_explain.log_min_duration = 0;
    SET auto_explain.log_nested_statements = on;
    SET auto_explain.log_analyze = on;
    SET auto_explain.log_timing = off;
    SET client_min_messages = log`);
  return async () => {
    await client.end();
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

/** The plans of all statements that a poll consists of, as PostgreSQL ran them. */
async function plansOf(user: string, since: number | null): Promise<string[]> {
  const plans: string[] = [];
  const collect = (notice: { message?: string | undefined }) => plans.push(notice.message ?? '');
  client.on('notice', collect);
  await client.query('SELECT * FROM leadtap.read_poll($1, $2, $3, 100)', [user, 'token', since]);
  client.off('notice', collect);
  return plans;
}

describe.each([
  ['boss', 'leads_pkey'],
  ['north-lead', 'leads_by_branch'],
  ['seller', 'leads_by_department'],
])('a poll of %s', (user, index) => {
  it.each([
    ['with since', 0, `Index Scan using ${index} on leads`],
    ['without since', null, `Index Scan Backward using ${index} on leads`],
  ])('%s reads as many leads as it gives, from one range of one index', async (_what, since, scan) => {
    const plans = await plansOf(user, since);
    const ofLeads = plans.filter((plan) => / on leads\b/.test(plan));
    expect(ofLeads).toHaveLength(1);
    expect(ofLeads[0]).toContain(scan);
    expect(ofLeads[0]).toContain('Index Cond');
    expect(ofLeads[0]).toMatch(/Scan .*\(actual rows=100 loops=1\)/);
    expect(ofLeads[0]).not.toMatch(/Sort|Filter|Rows Removed/);
  });

  it('reads no table from end to end', async () => {
    const plans = await plansOf(user, 0);
    expect(plans.length).toBeGreaterThan(4);
    expect(plans.filter((plan) => plan.includes('Seq Scan'))).toEqual([]);
  });
});
