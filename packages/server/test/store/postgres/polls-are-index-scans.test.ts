import { Client } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';

const LEADS = 5000;
const cleanUps: (() => void | Promise<void>)[] = [];
let client: Client;

/** Leads of one company in many branches, without statistics, as after a bulk load. */
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

const REVALIDATE = 'SELECT * FROM leadtap.revalidate($1, $2, $3, $4)';

/** The plans of all statements within a query, as PostgreSQL ran them. */
async function plansOf(query: string, values: unknown[]): Promise<string[]> {
  const plans: string[] = [];
  const collect = (notice: { message?: string | undefined }) => plans.push(notice.message ?? '');
  client.on('notice', collect);
  await client.query(query, values);
  client.off('notice', collect);
  return plans;
}

describe.each([
  ['company', [null, null], 'leads_pkey'],
  ['branch', ['north', null], 'leads_by_branch'],
  ['department', [null, 'sales'], 'leads_by_department'],
])('a page of a %s', (_place, place, index) => {
  const plansOfPage = (since: number | null, waitMs: number | null) =>
    plansOf('SELECT * FROM leadtap.read_page($1, $2, $3, $4, 100, $5)', ['acme', ...place, since, waitMs]);

  it.each([
    ['with since', 0, `Index Only Scan using ${index} on leads`],
    ['without since', null, `Index Only Scan Backward using ${index} on leads`],
  ])('%s reads as many leads as it gives, from one range of one index', async (_what, since, scan) => {
    const plans = await plansOfPage(since, 0);
    const ofLeads = plans.filter((plan) => / on leads\b/.test(plan));
    // A page without since comes with the last stamp of the company, which is one row of an index.
    if (since === null)
      expect(ofLeads.shift()).toMatch(/Index Only Scan Backward .*\(actual rows=1 loops=1\)/);
    const [keys = '', page = '', ...others] = ofLeads;
    expect(others).toEqual([]);
    expect(keys).toContain(scan);
    expect(keys).toContain('Index Cond');
    expect(keys).toMatch(/Scan .*\(actual rows=100 loops=1\)/);
    expect(keys).not.toMatch(/Sort|Filter|Rows Removed/);
    expect(page).toMatch(/Index Scan using leads_pkey on leads .*\(actual rows=1 loops=100\)/);
    expect(page).not.toMatch(/Filter:|Rows Removed/);
  });

  it.each([
    ['with the lock', 0],
    ['without it', null],
  ])('%s reads no table from end to end', async (_how, waitMs) => {
    const plans = await plansOfPage(0, waitMs);
    expect(plans.length).toBeGreaterThan(1);
    expect(plans.filter((plan) => plan.includes('Seq Scan'))).toEqual([]);
  });
});

it('a revalidation reads the changes since the last one, and no large table from end to end', async () => {
  await client.query('SELECT leadtap.prune_changes()');
  for (let n = 0; n < 50; n += 1) await client.query(`UPDATE leadtap.users SET name = 'n' || ${n}`);
  const { rows } = await client.query(REVALIDATE, [[], [], [], null]);
  await client.query(`UPDATE leadtap.users SET name = 'last' WHERE id = 'boss'`);

  const tokens = [
    ['boss', 'unknown'],
    ['token', null],
  ];
  const plans = await plansOf(REVALIDATE, [['acme', 'globex'], ...tokens, rows[0].seen]);
  const ofChanges = plans.filter((plan) => / on changes\b/.test(plan));
  expect(ofChanges).toHaveLength(1);
  expect(ofChanges[0]).toMatch(/Index Scan using changes_by_xid on changes .*\(actual rows=1 loops=1\)/);
  expect(ofChanges[0]).not.toContain('Rows Removed');
  const scans = plans.flatMap((plan) => plan.match(/Seq Scan on \w+/g) ?? []);
  // Each of these has one row.
  expect([...new Set(scans)].sort()).toEqual(['Seq Scan on change_log_state', 'Seq Scan on server_epoch']);
});

describe('a plan that was made while a table was small', () => {
  async function plansAfterGrowth(table: string, grow: string, query: string, values: unknown[]) {
    await client.query(`ANALYZE leadtap.${table}`);
    await client.query(query, values);
    await client.query(grow);
    return (await plansOf(query, values)).join('\n');
  }

  it('finds users one by one when there are many', async () => {
    const grow = `INSERT INTO leadtap.users (id, company_id, plan, access_level)
      SELECT 'u' || n, 'acme', 'PROFESSIONAL', 'COMPANY' FROM generate_series(1, 2000) AS n`;
    const plans = await plansAfterGrowth('users', grow, REVALIDATE, [[], ['boss'], [null], null]);
    expect(plans).toMatch(/Index Scan using users_pkey on users .*\(actual rows=1 loops=1\)/);
  });

  it('finds the names of branches one by one when there are many', async () => {
    const grow = `INSERT INTO leadtap.branches (company_id, id, name)
      SELECT 'acme', 'b' || n, 'B' FROM generate_series(1, 2000) AS n`;
    const page = 'SELECT * FROM leadtap.read_page($1, NULL, NULL, 0, 100, 0)';
    const plans = await plansAfterGrowth('branches', grow, page, ['acme']);
    expect(plans).toMatch(/Index Scan using branches_pkey on branches .*\(actual rows=1 loops=100\)/);
  });
});
