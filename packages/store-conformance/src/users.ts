import assert from 'node:assert/strict';
import type { Store, User, UserChanges } from 'leadtap';
import { check } from './check.ts';
import { ACME, apply, bare, GLOBEX, user } from './sample.ts';

async function updated(store: Store, userId: string, changes: UserChanges): Promise<User> {
  const outcome = await store.updateUser(userId, changes);
  assert(outcome.kind === 'updated', JSON.stringify(outcome));
  assert.deepEqual(await store.findUser(userId), outcome.user, 'the returned user is the stored one');
  return outcome.user;
}

/** Changes that are refused, and why. */
const REFUSED: readonly [UserChanges, object][] = [
  [{ accessLevel: 'BRANCH' }, { kind: 'place-missing', field: 'branchId' }],
  [{ accessLevel: 'DEPARTMENT' }, { kind: 'place-missing', field: 'departmentId' }],
  [
    { accessLevel: 'DEPARTMENT', branchId: 'north' },
    { kind: 'place-missing', field: 'departmentId' },
  ],
  [
    { accessLevel: 'BRANCH', branchId: 'west' },
    { kind: 'place-unknown', field: 'branchId' },
  ],
  [
    { accessLevel: 'BRANCH', branchId: 'only-globex' },
    { kind: 'place-unknown', field: 'branchId' },
  ],
  [
    { accessLevel: 'DEPARTMENT', departmentId: 'it' },
    { kind: 'place-unknown', field: 'departmentId' },
  ],
];

/** Changes of the user `boss` of Acme, applied in this order, with the resulting branch and department. */
const PLACED: readonly [UserChanges, readonly [string | null, string | null]][] = [
  [{ accessLevel: 'BRANCH', branchId: 'south' }, ['south', null]],
  [{ accessLevel: 'DEPARTMENT', departmentId: 'sales' }, ['north', 'sales']],
  [{ departmentId: 'south-sales' }, ['south', 'south-sales']],
  [{ accessLevel: 'BRANCH' }, ['south', null]],
  [{ branchId: 'north' }, ['north', null]],
  [{ accessLevel: 'COMPANY' }, [null, null]],
];

const ONLY_GLOBEX = { id: 'only-globex', name: 'Only Globex', departments: [] };

export const userChecks = [
  check('users: a user is found by the exact id', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    assert.deepEqual(await store.findUser('seller'), {
      id: 'seller',
      companyId: 'acme',
      email: 'seller@example.com',
      name: 'seller',
      plan: 'PROFESSIONAL',
      accessLevel: 'DEPARTMENT',
      branchId: 'north',
      departmentId: 'sales',
    });
    for (const id of ['unknown', '', 'SELLER', 'seller ', ' seller', 'seller\0', 'selle', 'seller%'])
      assert.equal(await store.findUser(id), undefined, JSON.stringify(id));
  }),

  check('users: users are listed in pages, each once, sorted by id', async ({ store }) => {
    const ids = Array.from({ length: 25 }, (_, index) => `user-${String(index).padStart(3, '0')}`);
    const shuffled = [...ids].sort((a, b) => a.slice(-1).localeCompare(b.slice(-1)));
    await apply(store, bare('acme', { users: shuffled.map((id) => user(id)) }));
    const listed: string[] = [];
    for (const size of [10, 10, 5, 0]) {
      const page = await store.listUsers(listed.at(-1), 10);
      assert.equal(page.length, size);
      listed.push(...page.map(({ id }) => id));
    }
    assert.deepEqual(listed, ids);
  }),

  check('users: a change updates only the given fields', async ({ store }) => {
    await apply(store, ACME);
    const before = await store.findUser('seller');
    const changed = await updated(store, 'seller', { plan: 'STARTER', email: null });
    assert.deepEqual(changed, { ...before, plan: 'STARTER', email: null });
    assert.deepEqual(await updated(store, 'seller', {}), changed);
  }),

  check('users: the access level determines the place of a user', async ({ store }) => {
    await apply(store, ACME);
    for (const [changes, place] of PLACED) {
      const { branchId, departmentId } = await updated(store, 'boss', changes);
      assert.deepEqual([branchId, departmentId], place, JSON.stringify(changes));
    }
  }),

  check('users: a missing or unknown place is refused, and the user is unchanged', async ({ store }) => {
    await apply(store, ACME, { ...GLOBEX, branches: [...GLOBEX.branches, ONLY_GLOBEX] });
    const before = await store.findUser('boss');
    for (const [changes, outcome] of REFUSED) {
      const attempt = { plan: 'STARTER', ...changes };
      assert.deepEqual(await store.updateUser('boss', attempt), outcome, JSON.stringify(changes));
    }
    assert.deepEqual(await store.findUser('boss'), before);
    assert.deepEqual(await store.updateUser('unknown', { plan: 'STARTER' }), { kind: 'no-such-user' });
  }),

  check('users: a removed user is not found any more, in every store', async ({ store, openAnother }) => {
    await apply(store, ACME);
    const other = await openAnother();
    assert.equal(await store.removeUser('boss'), true);
    assert.equal(await store.removeUser('boss'), false);
    assert.equal(await other.findUser('boss'), undefined);
    assert.deepEqual(
      (await other.listUsers(undefined, 10)).map(({ id }) => id),
      ['north-lead', 'seller'],
    );
  }),
];
