/** The organisation, leads and queries that the checks use. */
import assert from 'node:assert/strict';
import type {
  Company,
  LeadInput,
  LeadRecord,
  LeadResult,
  LeadScope,
  Page,
  PageQuery,
  Store,
  User,
  WriteOptions,
} from 'leadtap';

export const user = (id: string, rest: Partial<User> = {}): Omit<User, 'companyId'> => ({
  id,
  email: `${id}@example.com`,
  name: id,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
  ...rest,
});

export const ACME: Company = {
  id: 'acme',
  name: 'Acme',
  branches: [
    {
      id: 'north',
      name: 'North',
      departments: [
        { id: 'sales', name: 'Sales' },
        { id: 'service', name: 'Service' },
      ],
    },
    { id: 'south', name: 'South', departments: [{ id: 'south-sales', name: 'Sales' }] },
  ],
  users: [
    user('boss'),
    user('north-lead', { accessLevel: 'BRANCH', branchId: 'north' }),
    user('seller', { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'sales' }),
  ],
};

/** Uses the same ids of branches and departments as Acme. */
export const GLOBEX: Company = {
  id: 'globex',
  name: 'Globex',
  branches: [{ id: 'north', name: 'Globex North', departments: [{ id: 'sales', name: 'Globex Sales' }] }],
  users: [user('rival')],
};

/** A company without branches, departments and users. */
export const bare = (id: string, rest: Partial<Company> = {}): Company => ({
  id,
  name: id,
  branches: [],
  users: [],
  ...rest,
});

export async function apply(store: Store, ...companies: readonly Company[]) {
  const outcome = await store.applyOrganisation({ companies });
  assert(outcome.kind === 'applied', `not applied: ${JSON.stringify(outcome)}`);
  return outcome.changes;
}

export const lead = (id: string, rest: Partial<LeadInput> = {}): LeadInput => ({
  companyId: 'acme',
  id,
  fields: {},
  ...rest,
});

export async function write(
  store: Store,
  leads: readonly LeadInput[],
  options?: WriteOptions,
): Promise<readonly LeadResult[]> {
  const outcome = await store.writeLeads(leads, options);
  assert(outcome.kind === 'written', `not written: ${JSON.stringify(outcome)}`);
  assert.equal(outcome.results.length, leads.length, 'one result for each lead');
  return outcome.results;
}

/** Writes leads, asserts that none is rejected, and returns their `createdAt`. */
export async function stamp(
  store: Store,
  leads: readonly LeadInput[],
  options?: WriteOptions,
): Promise<number[]> {
  const results = await write(store, leads, options);
  return results.map((result) => {
    assert(result.kind !== 'rejected', `rejected: ${JSON.stringify(result)}`);
    return result.createdAt;
  });
}

export const ALL_OF_ACME: LeadScope = { level: 'COMPANY', companyId: 'acme' };

/** All leads of Acme, oldest first. */
export const FROM_THE_FIRST: PageQuery = { scope: ALL_OF_ACME, since: Date.UTC(1000, 0), limit: 100_000 };

export const poll = (store: Store, query: Partial<PageQuery> = {}): Promise<Page> =>
  store.readPage({ ...FROM_THE_FIRST, ...query });

export const idsOf = (leads: readonly LeadRecord[]): string[] => leads.map(({ id }) => id);

/** The only lead of Acme with this id, as a poll returns it. */
export async function find(store: Store, id: string): Promise<LeadRecord> {
  const { leads } = await poll(store);
  const [found, ...others] = leads.filter((candidate) => candidate.id === id);
  assert(found && others.length === 0, `exactly one lead has the id ${id}`);
  return found;
}

/** Batches of leads with different ids. */
export const batches = (prefix: string, count: number, size: number): LeadInput[][] =>
  Array.from({ length: count }, (_, batch) =>
    Array.from({ length: size }, (_, index) => lead(`${prefix}-${batch}-${index}`)),
  );

export async function isRevoked(store: Store, tokenId: string): Promise<boolean> {
  const tokens = [{ userId: 'boss', tokenId }];
  const { accounts } = await store.changeTracking.revalidate({ companies: [], tokens }, undefined);
  return accounts[0]?.isRevoked ?? false;
}
