import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { createConsumerStore } from '../../../src/consumers/sql.ts';
import type { SqlTask } from '../../../src/store/sql.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { prepareTasks, SQLITE } from '../../../src/store/sqlite/sql.ts';

it('a page of consumers reads its own range, and no table as a whole', async () => {
  const file = join(tempFolder(), 'leadtap.db');
  await (await openSqliteStore({ file })).close();
  const connection = new Connection(file);
  onTestFinished(() => connection.close());
  const prepare = vi.spyOn(connection, 'prepare');
  const runTask = prepareTasks(connection, Date.now);
  const run = async <T>(task: () => SqlTask<T>): Promise<T> => runTask(task());
  const { list } = createConsumerStore({ dialect: SQLITE, read: run, write: run });
  for (const selection of [{}, { userId: 'boss' }, { companyId: 'acme' }])
    await list({ ...selection, limit: 1, maxPendingLeads: 1, now: Date.now() });
  const lists = prepare.mock.calls.map(([sql]) => sql).filter((sql) => sql.includes('"pendingLeads"'));
  prepare.mockRestore();
  const plans = lists.map((sql) =>
    connection
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  );
  expect(plans.map(([, second]) => second)).toEqual([
    'SEARCH c USING PRIMARY KEY ((user_id,token_id)>(?,?))',
    'SEARCH c USING PRIMARY KEY (user_id=?)',
    'SEARCH c USING PRIMARY KEY (user_id=?)',
  ]);
  expect(plans[2]).toContain('SEARCH u USING COVERING INDEX users_by_company (company_id=?)');
  const steps = plans.flat();
  expect(steps.filter((step) => step === 'USE TEMP B-TREE FOR ORDER BY')).toEqual([]);
  // The page is scanned (c), the leads that a LIMIT bounds, and the gaps of a row.
  expect(steps.filter((step) => /^SCAN (?!c$|counted$|json_each )/.test(step))).toEqual([]);
  expect(steps.filter((step) => step.startsWith('SEARCH l ') && !step.includes('created_at>?'))).toEqual([]);
});
