import { expect, it } from 'vitest';
import { createConsumerStore } from '../../../src/consumers/sql.ts';
import { plansOf } from './planned-database.ts';

it('a page of consumers reads its own range, and no table as a whole', async () => {
  const plans = await plansOf('"pendingLeads"', async (database) => {
    const { list } = createConsumerStore(database);
    for (const selection of [{}, { userId: 'boss' }, { companyId: 'acme' }])
      await list({ ...selection, limit: 1, maxPendingLeads: 1, now: Date.now() });
  });
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
