import { NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import type { LeadRecord, LeadScope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService({
  limits: {
    userPolicies: [{ name: 'minute', quota: 1_000_000, windowS: 60 }],
    intakePolicies: [{ name: 'intake', quota: 1_000_000, windowS: 60 }],
  },
});

const SCOPES: Readonly<Record<string, LeadScope>> = {
  boss: { level: 'COMPANY', companyId: 'acme' },
  'north-lead': { level: 'BRANCH', companyId: 'acme', branchId: 'north' },
  seller: { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' },
  rival: { level: 'COMPANY', companyId: 'globex' },
  'rival-north': { level: 'BRANCH', companyId: 'globex', branchId: 'north' },
  'rival-seller': { level: 'DEPARTMENT', companyId: 'globex', departmentId: 'sales' },
};
const USERS = Object.keys(SCOPES);

const read = async (scope: LeadScope): Promise<readonly LeadRecord[]> =>
  (await service().store.readPage({ scope, since: 0, limit: 100_000 })).leads;

/** All leads of both companies. */
const readAll = async () => [
  ...(await read({ level: 'COMPANY', companyId: 'acme' })),
  ...(await read({ level: 'COMPANY', companyId: 'globex' })),
];

const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const sentLead = fc.record({
  id: optional(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')),
  companyId: fc.constantFrom(undefined, undefined, undefined, undefined, 'acme', 'globex', 'nowhere', null),
  branchId: fc.constantFrom(undefined, undefined, 'north', 'south', 'west', null),
  departmentId: fc.constantFrom(undefined, undefined, 'sales', 'service', 'south-sales', 'it', null),
  firstName: optional(fc.constantFrom('Ada', 'Grace', 'Mary')),
});

describe('a token with leads:write', () => {
  it('places leads only within the access level of its user, and reads nothing', async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...USERS),
        fc.oneof(sentLead, fc.array(sentLead, { minLength: 1, maxLength: 3 })),
        async (userId, leads) => {
          const scope = SCOPES[userId] ?? { level: 'COMPANY', companyId: '' };
          const [before, withinBefore] = [await readAll(), await read(scope)];
          const answer = await sendLeads(service(), leads, { userId });
          const body = await answer.text();
          const [after, withinAfter] = [await readAll(), await read(scope)];
          const outside = (all: readonly LeadRecord[], within: readonly LeadRecord[]) => {
            const triggers = new Set(within.map((lead) => lead.automation_trigger_id));
            return all.filter((lead) => !triggers.has(lead.automation_trigger_id));
          };
          // Nothing outside was added, changed, or moved in or out.
          expect(outside(after, withinAfter)).toEqual(outside(before, withinBefore));
          if (answer.ok) {
            const ids: string[] = JSON.parse(body).leads.map(({ id }: { id: string }) => id);
            const visible = withinAfter.map(({ id }) => id);
            expect(ids.filter((id) => !visible.includes(id))).toEqual([]);
          } else {
            expect(answer.status).toBe(422);
            expect(after).toEqual(before);
          }
          statuses.add(answer.status);
        },
      ),
      { numRuns: 40 },
    );
    expect([...statuses]).toEqual(expect.arrayContaining([201, 422]));
    for (const userId of USERS) {
      const authorization = `Bearer ${await tokenWith(service(), userId, ['leads:write'])}`;
      for (const query of ['', '?since=1970-01-01', '?limit=0'])
        await expectProblem(
          await fetch(`${service().url}${NEW_LEADS_PATH}${query}`, { headers: { authorization } }),
          'insufficient-scope',
        );
    }
  });
});

describe('the place of a lead', () => {
  const COMPANY = {
    field: 'companyId',
    detail: '"globex" is not the company of your user; leave companyId out',
  };
  const outside = (field: 'branchId' | 'departmentId', what: string) => ({
    field,
    detail: `${what} outside the access level of your user; leave ${field} out`,
  });

  it.each([
    ['boss', {}, [null, null]],
    ['boss', { companyId: 'acme', branchId: null }, [null, null]],
    ['boss', { branchId: 'south' }, ['South', null]],
    ['boss', { departmentId: 'service' }, ['North', 'Service']],
    ['north-lead', {}, ['North', null]],
    ['north-lead', { branchId: 'north', departmentId: null }, ['North', null]],
    ['north-lead', { departmentId: 'service' }, ['North', 'Service']],
    ['seller', {}, ['North', 'Sales']],
    ['seller', { branchId: 'north' }, ['North', 'Sales']],
    ['seller', { departmentId: 'sales' }, ['North', 'Sales']],
  ] as const)('of %s with %o', async (userId, place, expected) => {
    const answer = await sendLeads(service(), { ...place, firstName: 'placed' }, { userId });
    expect(answer.status).toBe(201);
    const [{ id = '' } = {}] = ((await answer.json()) as { leads: { id: string }[] }).leads;
    const lead = (await readAll()).find((candidate) => candidate.id === id);
    expect([lead?.branchName, lead?.departmentName]).toEqual(expected);
  });

  it.each([
    ['boss', { companyId: 'globex' }, COMPANY],
    ['north-lead', { companyId: 'globex' }, COMPANY],
    ['north-lead', { branchId: 'south' }, outside('branchId', 'branch "south" is unknown or')],
    ['north-lead', { branchId: 'west' }, outside('branchId', 'branch "west" is unknown or')],
    ['north-lead', { branchId: null }, outside('branchId', 'a lead without a branch is')],
    [
      'north-lead',
      { departmentId: 'south-sales' },
      outside('departmentId', 'department "south-sales" is unknown or'),
    ],
    // The same message as for the department of another branch.
    ['north-lead', { departmentId: 'it' }, outside('departmentId', 'department "it" is unknown or')],
    ['seller', { branchId: 'south' }, outside('branchId', 'branch "south" is unknown or')],
    ['seller', { departmentId: 'service' }, outside('departmentId', 'department "service" is unknown or')],
    ['seller', { departmentId: null }, outside('departmentId', 'a lead without a department is')],
  ] as const)('of %s may not be %o', async (userId, place, error) => {
    const { errors } = await expectProblem(
      await sendLeads(service(), { firstName: 'placed', ...place }, { userId }),
      'invalid-lead',
    );
    expect(errors).toEqual([{ index: 0, ...error }]);
  });

  it('a lead that exists outside of it is neither changed nor moved', async () => {
    const before = await service().add({ id: 'of-south', branchId: 'south', fields: { firstName: 'Ada' } });
    for (const userId of ['north-lead', 'seller']) {
      const answer = await sendLeads(service(), { id: 'of-south', firstName: 'Eve' }, { userId });
      const { errors } = await expectProblem(answer, 'invalid-lead');
      expect(errors).toEqual([
        {
          index: 0,
          field: 'id',
          detail: 'lead "of-south" was erased, or is outside the access level of your user; use another id',
        },
      ]);
    }
    const lead = (await readAll()).find(({ id }) => id === 'of-south');
    expect(lead).toMatchObject({ firstName: 'Ada', branchName: 'South', createdAt: before[0] });
  });

  it('a lead outside of it is named together with errors of its fields', async () => {
    await service().add({ id: 'also-south', branchId: 'south' });
    const lead = { id: 'also-south', email: 'ada' };
    for (const [wrong, field] of [
      [lead, 'email'],
      [{ id: 'also-south', statusValue: 'UNKNOWN' }, 'statusValue'],
    ] as const) {
      const answer = await sendLeads(service(), wrong, { userId: 'north-lead' });
      const { errors = [] } = await expectProblem(answer, 'invalid-lead');
      expect(errors.map((error) => 'field' in error && error.field)).toEqual([field, 'id']);
    }
    const allowed = await expectProblem(await sendLeads(service(), lead), 'invalid-lead');
    expect(allowed.errors).toHaveLength(1);
  });

  it('an erased lead and one outside of it have the same message', async () => {
    await service().add({ id: 'erased', branchId: 'south' });
    const attempts = [{ firstName: 'Eve' }, { email: 'eve' }, { statusValue: 'UNKNOWN' }];
    const tryAll = async () => {
      const errors = [];
      for (const attempt of attempts) {
        const answer = await sendLeads(service(), { id: 'erased', ...attempt }, { userId: 'north-lead' });
        errors.push((await expectProblem(answer, 'invalid-lead')).errors);
      }
      return errors;
    };
    const before = await tryAll();
    expect(before.map((errors) => errors?.length)).toEqual([1, 2, 2]);
    const { removal } = service().store;
    expect(await removal.erase(await removal.findByIds(['erased'], 'acme'))).toBe(1);
    expect(await tryAll()).toEqual(before);
  });

  it('a change of the access level counts from the next request on', async () => {
    expect(
      (await sendLeads(service(), { phone1: '1', branchId: 'south' }, { userId: 'starter' })).status,
    ).toBe(201);
    await service().store.updateUser('starter', { accessLevel: 'BRANCH', branchId: 'north' });
    expect(
      (await sendLeads(service(), { phone1: '1', branchId: 'south' }, { userId: 'starter' })).status,
    ).toBe(422);
  });
});
