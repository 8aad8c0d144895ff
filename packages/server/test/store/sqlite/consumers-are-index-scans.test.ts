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
  // Leads are counted for each consumer: those in its gaps and, if they are not all of one user, the pending ones. A part for each access level.
  const counted = plans.map((steps) => steps.filter((step) => step === 'SCAN counted').length);
  expect(counted).toEqual([6, 3, 6]);
  const steps = plans.flat();
  // The newest leads of the user, together with the page.
  expect(steps.filter((step) => step === 'USE TEMP B-TREE FOR ORDER BY')).toHaveLength(1);
  // Of the tables, the page (c) alone is scanned.
  expect(steps.filter((step) => /^SCAN (?![cmk]\b)[a-z]\b(?! VIRTUAL)/.test(step))).toEqual([]);
  const ofMany = [...(plans[0] ?? []), ...(plans[2] ?? [])];
  expect(ofMany.filter((step) => step.startsWith('SEARCH l ') && !step.includes('created_at>?'))).toEqual([]);
});
