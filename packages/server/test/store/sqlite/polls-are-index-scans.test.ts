import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { RENDERED_COLUMNS } from '../../../src/store/sqlite/lead-columns.ts';
import { preparePages } from '../../../src/store/sqlite/leads-read.ts';

/** The statements of a poll: for each access level the newest leads, and those after a time. */
async function pollStatements(): Promise<{ connection: Connection; statements: string[] }> {
  const file = join(tempFolder(), 'leadtap.db');
  await (await openSqliteStore({ file })).close();
  const connection = new Connection(file);
  onTestFinished(() => connection.close());
  const prepare = vi.spyOn(connection, 'prepare');
  preparePages(connection, RENDERED_COLUMNS);
  const statements = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  return { connection, statements };
}

it('each of the six polls is one range of one index, without a sort', async () => {
  const { connection, statements } = await pollStatements();
  const plans = statements.map((sql) => {
    const rows = connection.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
    return rows.map(({ detail }) => detail);
  });
  expect(plans.map(([leads]) => leads)).toEqual([
    'SEARCH l USING PRIMARY KEY (company_id=?)',
    'SEARCH l USING PRIMARY KEY (company_id=? AND created_at>?)',
    'SEARCH l USING INDEX leads_by_branch (company_id=? AND branch_id=?)',
    'SEARCH l USING INDEX leads_by_branch (company_id=? AND branch_id=? AND created_at>?)',
    'SEARCH l USING INDEX leads_by_department (company_id=? AND department_id=?)',
    'SEARCH l USING INDEX leads_by_department (company_id=? AND department_id=? AND created_at>?)',
  ]);
  // The other steps find company, status, branch and department by primary key.
  for (const [, ...names] of plans)
    expect(names.map((detail) => detail.replace(' LEFT-JOIN', ''))).toEqual([
      'SEARCH c USING PRIMARY KEY (id=?)',
      'SEARCH s USING PRIMARY KEY (company_id=? AND value=?)',
      'SEARCH b USING PRIMARY KEY (company_id=? AND id=?)',
      'SEARCH d USING PRIMARY KEY (company_id=? AND id=?)',
    ]);
});
