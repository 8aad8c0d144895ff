import { expect, it } from 'vitest';
import { createHookStore } from '../../../src/hooks/sql.ts';
import { plansOf } from './planned-database.ts';

it('a claim reads the hooks of the given companies and one lead for each, and no table as a whole', async () => {
  const [steps = []] = await plansOf('WITH examined', (database) =>
    createHookStore(database).claim({ claimMs: 1000, companies: ['acme'], limit: 100 }),
  );
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
