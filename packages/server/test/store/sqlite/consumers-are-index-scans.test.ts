import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { prepareConsumers } from '../../../src/consumers/sqlite.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

it('a page of consumers reads its own range, and no table as a whole', async () => {
  const file = join(tempFolder(), 'leadtap.db');
  await (await openSqliteStore({ file })).close();
  const connection = new Connection(file);
  onTestFinished(() => connection.close());
  const prepare = vi.spyOn(connection, 'prepare');
  prepareConsumers(connection);
  const lists = prepare.mock.calls.map(([sql]) => sql).filter((sql) => sql.includes('AS pending'));
  prepare.mockRestore();
  const plans = lists.map((sql) =>
    connection
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  );
  expect(plans.map(([first]) => first)).toEqual([
    'SEARCH c USING PRIMARY KEY ((user_id,token_id)>(?,?))',
    'SEARCH c USING PRIMARY KEY (user_id=?)',
    'SEARCH u USING INDEX users_by_company (company_id=? AND id>?)',
  ]);
  const steps = plans.flat();
  // The tokens of one user may be sorted; the whole list may not. A subquery with a LIMIT is scanned, and the gaps of a row (g).
  expect(steps.filter((step) => step === 'USE TEMP B-TREE FOR ORDER BY')).toEqual([]);
  expect(steps.filter((step) => /^SCAN (?!\(?subquery|g VIRTUAL)/i.test(step))).toEqual([]);
  expect(steps.filter((step) => step.startsWith('SEARCH l ') && !step.includes('created_at>?'))).toEqual([]);
});
