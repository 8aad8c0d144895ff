import { expect, it } from 'vitest';
import { createHookStore } from '../../../src/hooks/sql.ts';
import { decodeLead } from '../../../src/store/sqlite/lead-columns.ts';
import { plansOf } from './planned-database.ts';

it('a claim reads the hooks of the given companies and one lead for each, and no table as a whole', async () => {
  const [steps = []] = await plansOf('WITH examined', (database) =>
    createHookStore(database, decodeLead).claim({ claimMs: 1000, companies: ['acme'], limit: 100 }),
  );
  expect(steps.filter((step) => step.startsWith('SEARCH l '))).toEqual([
    'SEARCH l USING PRIMARY KEY (company_id=? AND created_at>? AND created_at<?)',
    'SEARCH l USING INDEX leads_by_branch (company_id=? AND branch_id=? AND created_at>? AND created_at<?)',
    'SEARCH l USING INDEX leads_by_department (company_id=? AND department_id=? AND created_at>? AND created_at<?)',
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

it('the leads that a hook sends are a range of one index', async () => {
  const [steps = []] = await plansOf('l.created_at = k.created_at', async (database) => {
    const store = createHookStore(database, decodeLead);
    const times = { notBefore: 0, createdAt: 0, announcedThrough: 0, failures: 0 };
    const ids = { id: 'a', userId: 'boss', tokenId: null, tokenExpiresAt: null, keyId: null, name: null };
    const nothing = { announcedSince: null, lastEventAt: null, lastStatus: null };
    const state = { failingSince: null, disabledAt: null, checkAt: null, remindAt: null, scopes: null };
    const hook = {
      ...{ hours: null, connectionId: null },
      ...times,
      ...ids,
      ...nothing,
      ...state,
      url: 'https://a.test/',
      baseUrl: '',
      send: 'lead',
    } as const;
    await store.readLead(hook, 0);
  });
  expect(steps.filter((step) => step.startsWith('SEARCH l '))).toEqual([
    'SEARCH l USING PRIMARY KEY (company_id=? AND created_at=?)',
    'SEARCH l USING PRIMARY KEY (company_id=? AND created_at>?)',
    'SEARCH l USING COVERING INDEX leads_by_branch (company_id=? AND branch_id=? AND created_at>?)',
    'SEARCH l USING COVERING INDEX leads_by_department (company_id=? AND department_id=? AND created_at>?)',
  ]);
  expect(steps.filter((step) => /^SCAN (?!k |json_each|COMPANY|BRANCH|DEPARTMENT|\()/.test(step))).toEqual(
    [],
  );
});
