import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { createHookStore } from '../../../src/hooks/sql.ts';
import type { SqlTask } from '../../../src/store/sql.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { prepareTasks, SQLITE } from '../../../src/store/sqlite/sql.ts';

it('a claim reads the hooks of the given companies and one lead for each, and no table as a whole', async () => {
  const file = join(tempFolder(), 'leadtap.db');
  await (await openSqliteStore({ file })).close();
  const connection = new Connection(file);
  onTestFinished(() => connection.close());
  const prepare = vi.spyOn(connection, 'prepare');
  const runTask = prepareTasks(connection, Date.now);
  const run = async <T>(task: () => SqlTask<T>): Promise<T> => runTask(task());
  const { claim: claimHooks } = createHookStore({ dialect: SQLITE, read: run, write: run });
  await claimHooks({ claimMs: 1000, companies: ['acme'], limit: 100 });
  const claim = prepare.mock.calls.map(([sql]) => sql).find((sql) => sql.includes('WITH examined'));
  prepare.mockRestore();
  const steps = connection
    .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${claim}`)
    .all()
    .map(({ detail }) => detail);
  expect(steps.filter((step) => step.startsWith('SEARCH l '))).toEqual([
    'SEARCH l USING PRIMARY KEY (company_id=?)',
    'SEARCH l USING COVERING INDEX leads_by_branch (company_id=? AND branch_id=?)',
    'SEARCH l USING COVERING INDEX leads_by_department (company_id=? AND department_id=?)',
  ]);
  expect(steps).toContain('SEARCH h USING PRIMARY KEY (id=?)');
  expect(steps.filter((step) => step.startsWith('SEARCH hooks '))).toEqual([
    'SEARCH hooks USING COVERING INDEX hooks_by_company (company_id=?)',
    'SEARCH hooks USING COVERING INDEX hooks_by_check (check_at<?)',
  ]);
  expect(steps.filter((step) => /^SCAN (?!json_each|[ek]$)/.test(step))).toEqual([]);
});
