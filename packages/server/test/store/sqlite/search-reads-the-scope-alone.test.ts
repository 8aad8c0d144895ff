import { expect, it } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

it('a lead that leaves the scope before it is read is not returned, and the next search continues after it', async () => {
  const { store, add, database } = await startService();
  const ids = ['last', ...Array.from({ length: 100 }, (_, index) => `${index}`), 'moved'];
  await add(
    ...ids.map((id) => ({ id, branchId: 'north', fields: { fullName: /\d/.test(id) ? 'Bo' : 'Zoe' } })),
  );
  const other = new Connection(database.url.replace('sqlite:', ''));
  const search = {
    scope: { level: 'BRANCH', companyId: 'acme', branchId: 'north' },
    text: 'zoe',
    limit: 10,
  } as const;
  // Between the step that finds the lead and the one that reads it.
  const isTimeUp = () => {
    other.exec(`UPDATE leads SET branch_id = 'south' WHERE id = 'moved'`);
    return true;
  };
  const { leads, next } = await store.searchLeads({ ...search, isTimeUp });
  other.close();
  expect(leads).toEqual([]);
  const following = await store.searchLeads({ ...search, before: next });
  expect(following.leads).toMatchObject([{ lead: { id: 'last' } }]);
});
