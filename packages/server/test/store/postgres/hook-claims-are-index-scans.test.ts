import { expect, it } from 'vitest';
import { createHookStore } from '../../../src/hooks/sql.ts';
import { toLeadRecord } from '../../../src/leads/row.ts';
import { makeExplainedDatabase } from './explained-database.ts';

/** The number of rows that a step of the plan has read in all. */
function rowsOf(plan: string, step: RegExp): number {
  const lines = plan.split('\n').filter((line) => step.test(line));
  expect(lines).not.toEqual([]);
  const rows = lines.map((line) => /\(actual rows=(\d+) loops=(\d+)\)/.exec(line) ?? []);
  return rows.reduce((sum, [, count = 0, loops = 0]) => sum + Number(count) * Number(loops), 0);
}

it('a claim reads the hooks of the given companies and one lead for each, with and without statistics', async () => {
  const { client, plans, explain: explainDatabase } = await makeExplainedDatabase();
  await client.query(`
    INSERT INTO leadtap.leads (company_id, department_id)
    SELECT c, 'sales' FROM unnest(ARRAY['acme', 'globex']) AS c, generate_series(1, 1000)`);
  await client.query(`
    INSERT INTO leadtap.hooks (id, company_id, user_id, token_id, url, send, base_url, created_at, announced_through, failures, not_before)
    SELECT u.id || n, u.company_id, u.id, '', 'https://h/' || n, 'lead', '', 'epoch', now() + interval '1 day', 0, 'epoch'
      FROM leadtap.users AS u, generate_series(1, CASE u.company_id WHEN 'acme' THEN 10 ELSE 1000 END) AS n`);
  const { claim } = createHookStore(await explainDatabase(), toLeadRecord);
  const explain = async (companies: readonly string[]) => {
    plans.length = 0;
    expect(await claim({ claimMs: 1000, companies, limit: 100 })).toEqual([]);
    return plans.find((text) => text.includes('LockRows')) ?? '';
  };
  const { rows } = await client.query(
    `SELECT count(*)::integer AS n FROM leadtap.hooks WHERE company_id = 'acme'`,
  );
  for (const statistics of ['', 'VACUUM ANALYZE']) {
    if (statistics) await client.query(statistics);
    const plan = await explain(['acme']);
    expect(plan).not.toMatch(/Seq Scan on (?!hooks).*\(actual/);
    expect(rowsOf(plan, /hooks_by_company on hooks/)).toBe(rows[0]?.n);
    expect(rowsOf(plan, / on leads l/)).toBeLessThanOrEqual(rows[0]?.n);
    expect(rowsOf(plan, / on users u/)).toBeLessThanOrEqual(rows[0]?.n);
    expect(rowsOf(await explain([]), / on hooks/)).toBe(0);
  }
});
