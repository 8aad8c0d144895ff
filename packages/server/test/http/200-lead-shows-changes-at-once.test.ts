import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('a lead, after a change', () => {
  const rename = {
    companies: ORGANISATION.companies.map((company) => ({
      ...company,
      name: `${company.name} renamed`,
      statuses: [{ value: 'NEW', label: 'Fresh', color: '#ffffff', final: true }],
      branches: company.branches.map((branch) => ({
        ...branch,
        name: `${branch.name} renamed`,
        departments: branch.departments.map((department) => ({
          ...department,
          name: `${department.name} renamed`,
        })),
      })),
    })),
  };

  it('has the current names and status, and is otherwise unchanged', async () => {
    const { add, leads, store } = await startService();
    await add({ id: 'a', departmentId: 'sales' });
    const [before] = await leads('boss');
    await store.applyOrganisation(rename);
    expect(await leads('boss')).toEqual([
      {
        ...before,
        status: { value: 'NEW', label: 'Fresh', color: '#ffffff', final: true },
        companyName: 'Acme renamed',
        branchName: 'North renamed',
        departmentName: 'Sales renamed',
      },
    ]);
  });

  it('keeps createdAt and the automation ids; only updatedAt changes', async () => {
    const clock = manualClock();
    const { add, leads } = await startService({ clock });
    await add({ id: 'a', fields: { firstName: 'Ada', phone1: '1' } });
    const [before] = await leads('boss');
    clock.advance(60_000);
    await add({ id: 'a', statusValue: 'WON', fields: { phone1: '2' } });
    expect(await leads('boss')).toEqual([
      {
        ...before,
        phone1: '2',
        statusValue: 'WON',
        status: { value: 'WON', label: 'Won', color: '#16a34a', final: true },
        updatedAt: new Date(clock()).toISOString(),
      },
    ]);
  });

  it('is not returned again to a client that has seen it', async () => {
    const { add, leads } = await startService();
    await add({ id: 'a' });
    const [seen] = await leads('boss');
    await add({ id: 'a', statusValue: 'WON' });
    expect(await leads('boss', `since=${seen?.createdAt}`)).toEqual([]);
  });
});
