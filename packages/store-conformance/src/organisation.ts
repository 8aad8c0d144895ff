import assert from 'node:assert/strict';
import type { ChangeCount, Status, UserInput } from 'leadtap';
import { check } from './check.ts';
import { ACME, apply, bare, find, GLOBEX, lead, user, write } from './sample.ts';

const count = (created: number, updated: number, unchanged: number): ChangeCount => ({
  created,
  updated,
  unchanged,
});

const status = (value: string, rest: Partial<Status> = {}): Status => ({
  value,
  label: value.toLowerCase(),
  color: '#000000',
  final: false,
  ...rest,
});

const DEFAULT_STATUSES = ['NEW', 'CONTACTED', 'APPOINTMENT', 'QUOTED', 'WON', 'LOST'];

export const organisationChecks = [
  check('organisation: a new one is created and counted', async ({ store }) => {
    assert.deepEqual(await apply(store, ACME, GLOBEX), {
      companies: count(2, 0, 0),
      branches: count(3, 0, 0),
      departments: count(4, 0, 0),
      statuses: count(12, 0, 0),
      users: count(4, 0, 0),
      keptStatuses: [],
      removedStatuses: [],
    });
  }),

  check('organisation: the same one again changes nothing', async ({ store }) => {
    const catalogue = { statuses: [status('OPEN'), status('DONE', { final: true })] };
    const companies = [{ ...ACME, ...catalogue }, GLOBEX];
    await apply(store, ...companies);
    assert.deepEqual(await apply(store, ...companies), {
      companies: count(0, 0, 2),
      branches: count(0, 0, 3),
      departments: count(0, 0, 4),
      statuses: count(0, 0, 2),
      users: count(0, 0, 4),
      keptStatuses: [],
      removedStatuses: [],
    });
  }),

  check('organisation: different rows are updated, rows that are not listed are kept', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const north = { id: 'north', name: 'Far North', departments: [{ id: 'sales', name: 'Selling' }] };
    const users = [user('boss', { plan: 'STARTER', name: null }), user('newcomer')];
    const changes = await apply(store, { ...ACME, name: 'Acme Ltd', branches: [north], users });
    assert.deepEqual(changes, {
      companies: count(0, 1, 0),
      branches: count(0, 1, 0),
      departments: count(0, 1, 0),
      statuses: count(0, 0, 0),
      users: count(1, 1, 0),
      keptStatuses: [],
      removedStatuses: [],
    });
    await write(store, [lead('1', { departmentId: 'sales' }), lead('2', { departmentId: 'south-sales' })]);
    const { companyName, branchName, departmentName } = await find(store, '1');
    assert.deepEqual([companyName, branchName, departmentName], ['Acme Ltd', 'Far North', 'Selling']);
    assert.equal((await find(store, '2')).branchName, 'South');
    assert.deepEqual(await store.findUser('boss'), {
      ...user('boss', { plan: 'STARTER', name: null }),
      companyId: 'acme',
    });
    assert.equal((await store.findUser('seller'))?.departmentId, 'sales');
  }),

  check(
    'organisation: an absent name or address of a user is kept, and null clears it',
    async ({ store }) => {
      const place = { branchId: null, departmentId: null };
      const unnamed: UserInput = { ...place, id: 'ada', plan: 'PROFESSIONAL', accessLevel: 'COMPANY' };
      await apply(store, { ...bare('c'), users: [user('ada', { name: 'Ada', email: 'ada@c.example' })] });
      await apply(store, { ...bare('c'), users: [unnamed] });
      assert.equal((await store.findUser('ada'))?.name, 'Ada');
      await apply(store, { ...bare('c'), users: [{ ...unnamed, name: null }] });
      const ada = await store.findUser('ada');
      assert.deepEqual([ada?.name, ada?.email], [null, 'ada@c.example']);
    },
  ),

  check('organisation: existing leads show a new name', async ({ store }) => {
    await apply(store, { ...ACME, statuses: [status('OPEN')] });
    await write(store, [lead('1', { branchId: 'south' })]);
    const south = { id: 'south', name: 'Deep South', departments: [] };
    const renamed = status('OPEN', { label: 'Still open', color: '#ffffff', final: true });
    await apply(store, { ...ACME, branches: [south], statuses: [renamed] });
    const found = await find(store, '1');
    assert.equal(found.branchName, 'Deep South');
    assert.deepEqual(found.status, renamed);
  }),

  check('organisation: a new company without statuses gets the default ones', async ({ store }) => {
    await apply(store, ACME);
    const [result] = await write(store, [lead('1', { statusValue: 'NO_SUCH' })]);
    assert.deepEqual(result, {
      kind: 'rejected',
      problem: { field: 'statusValue', reason: 'unknown', value: 'NO_SUCH', allowed: DEFAULT_STATUSES },
    });
  }),

  check('organisation: an existing company without statuses in the file keeps its own', async ({ store }) => {
    await apply(store, bare('acme', { statuses: [status('OPEN')] }));
    const changes = await apply(store, bare('acme'));
    assert.deepEqual(changes.statuses, count(0, 0, 0));
    await write(store, [lead('1')]);
    assert.equal((await find(store, '1')).status.value, 'OPEN');
  }),

  check(
    'organisation: a dropped status that leads use is kept after the others, an unused one is removed',
    async ({ store }) => {
      await apply(store, bare('acme', { statuses: [status('OPEN'), status('IDLE')] }));
      await write(store, [lead('old')]);
      const changes = await apply(store, bare('acme', { statuses: [status('TODO'), status('DONE')] }));
      assert.deepEqual(changes.statuses, count(2, 0, 0));
      assert.deepEqual(changes.keptStatuses, [{ companyId: 'acme', value: 'OPEN' }]);
      assert.deepEqual(changes.removedStatuses, [{ companyId: 'acme', value: 'IDLE' }]);
      const [, result] = await write(store, [lead('new'), lead('wrong', { statusValue: 'IDLE' })]);
      assert.deepEqual(result, {
        kind: 'rejected',
        problem: {
          field: 'statusValue',
          reason: 'unknown',
          value: 'IDLE',
          allowed: ['TODO', 'DONE', 'OPEN'],
        },
      });
      assert.equal((await find(store, 'old')).status.value, 'OPEN');
      assert.equal((await find(store, 'new')).status.value, 'TODO');
    },
  ),

  check('organisation: every conflict is reported, and nothing is changed', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const elsewhere = { id: 'south', name: 'New name', departments: [{ id: 'sales', name: 'Sales' }] };
    const conflicting = { ...ACME, branches: [elsewhere], users: [user('newcomer'), user('rival')] };
    assert.deepEqual(await store.applyOrganisation({ companies: [conflicting] }), {
      kind: 'conflict',
      conflicts: [
        {
          kind: 'department-in-another-branch',
          companyId: 'acme',
          departmentId: 'sales',
          branchId: 'south',
          existingBranchId: 'north',
        },
        {
          kind: 'user-in-another-company',
          userId: 'rival',
          companyId: 'acme',
          existingCompanyId: 'globex',
        },
      ],
    });
    assert.equal(await store.findUser('newcomer'), undefined);
    assert.deepEqual((await apply(store, ACME, GLOBEX)).branches, count(0, 0, 3));
  }),

  check('organisation: a user is added only if there is none of the id', async ({ store, openAnother }) => {
    const other = await openAnother();
    await apply(store, ACME, GLOBEX);
    const add = (to: typeof ACME, name: string) => ({
      companies: [{ ...to, users: [{ ...user('ada'), name }] }],
    });
    const outcomes = await Promise.all([
      store.applyOrganisation(add(ACME, 'Ada'), { onlyNewUsers: true }),
      other.applyOrganisation(add(ACME, 'Ada'), { onlyNewUsers: true }),
    ]);
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['applied', 'conflict']);
    assert.deepEqual(await store.applyOrganisation(add(GLOBEX, 'Eve'), { onlyNewUsers: true }), {
      kind: 'conflict',
      conflicts: [{ kind: 'user-exists', userId: 'ada', companyId: 'acme' }],
    });
    assert.equal((await store.findUser('ada'))?.name, 'Ada');
  }),

  check('organisation: a second store reads it at once', async ({ store, openAnother }) => {
    const other = await openAnother();
    await apply(store, ACME);
    assert.equal((await other.findUser('boss'))?.companyId, 'acme');
    const [result] = await write(other, [lead('1', { departmentId: 'sales' })]);
    assert.equal(result?.kind, 'added');
  }),

  check('organisation: it is read as it was applied, sorted by id, page by page', async ({ store }) => {
    const reader = store.organisation;
    const unsorted = ['b', 'B', 'a', '\u00e9', 'a-1'];
    const statuses = ['WON', 'NEW'].map((value) => status(value));
    const users = unsorted.map((id) => user(`user ${id}`));
    const branches = unsorted.map((id) => ({ id, name: `Branch ${id}`, departments: [] }));
    await apply(store, bare('z'), bare('acme', { statuses, branches, users }), bare('b'));
    const sorted = ['B', 'a', 'a-1', 'b', '\u00e9'];
    const acme = {
      id: 'acme',
      name: 'acme',
      statuses,
      branches: sorted.map((id) => ({ id, name: `Branch ${id}`, departments: [] })),
    };
    assert.deepEqual(await reader.readCompany('acme'), acme);
    assert.equal(await reader.readCompany('unknown'), undefined);
    const first = await reader.readCompanies(undefined, 2);
    assert.deepEqual(first[0], acme);
    assert.deepEqual(
      [...first, ...(await reader.readCompanies('b', 2))].map(({ id }) => id),
      ['acme', 'b', 'z'],
    );
    const page = await reader.readUsers('acme', undefined, 3);
    assert.deepEqual(page[0], { ...user('user B'), companyId: 'acme' });
    assert.deepEqual(
      [...page, ...(await reader.readUsers('acme', page[2]?.id, 3))].map(({ id }) => id),
      sorted.map((id) => `user ${id}`),
    );
    assert.deepEqual(await reader.readUsers('z', undefined, 3), []);
    await apply(store, ACME);
    const { branches: placed = [] } = (await reader.readCompany('acme')) ?? {};
    assert.deepEqual(
      placed.filter(({ id }) => ['north', 'south'].includes(id)),
      ACME.branches,
    );
  }),
];
