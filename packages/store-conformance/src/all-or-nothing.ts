import assert from 'node:assert/strict';
import type { LeadInput, LeadScope, PlacementProblem, Store, StoredLead, VerifiedToken } from 'leadtap';
import { check, START } from './check.ts';
import {
  ACME,
  ALL_OF_ACME,
  apply,
  FROM_THE_FIRST,
  find,
  GLOBEX,
  idsOf,
  lead,
  poll,
  stamp,
} from './sample.ts';

const NORTH: LeadScope = { level: 'BRANCH', companyId: 'acme', branchId: 'north' };
const SALES: LeadScope = { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' };

async function writeAll(store: Store, leads: readonly LeadInput[], scope: LeadScope = ALL_OF_ACME) {
  const outcome = await store.writeAllLeads(leads, scope);
  assert(outcome.kind === 'written', `not written: ${JSON.stringify(outcome)}`);
  return outcome.results;
}

async function problemsOf(store: Store, leads: readonly LeadInput[], scope: LeadScope = ALL_OF_ACME) {
  const outcome = await store.writeAllLeads(leads, scope);
  assert(outcome.kind === 'rejected', `not rejected: ${JSON.stringify(outcome)}`);
  return outcome.problems;
}

const outside = (field: 'id' | 'branchId' | 'departmentId', value: string | null): PlacementProblem => ({
  field,
  reason: 'outside-scope',
  value,
});

/** Within a scope, a new lead gets one of these problems. */
const OUTSIDE: readonly [LeadScope, Partial<LeadInput>, PlacementProblem][] = [
  [NORTH, {}, outside('branchId', null)],
  [NORTH, { branchId: 'south' }, outside('branchId', 'south')],
  [NORTH, { departmentId: 'south-sales' }, outside('branchId', 'south')],
  [SALES, { branchId: 'north' }, outside('departmentId', null)],
  [SALES, { departmentId: 'service' }, outside('departmentId', 'service')],
  [{ level: 'COMPANY', companyId: 'globex' }, {}, outside('branchId', null)],
];

const ACCOUNT_CHANGES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'a revocation': (store) => store.revokeToken('a'),
  'a removal of the user': (store) => store.removeUser('boss'),
  'a change of the access level': (store) =>
    store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' }),
};

const request = (keyHash: string, bodyHash: string, ...derivedIds: string[]) => ({
  keyHash: keyHash.repeat(64),
  bodyHash: bodyHash.repeat(64),
  derivedIds: new Set(derivedIds),
});
const DAY_MS = 86_400_000;

export const allOrNothingChecks = [
  check('all or nothing: a request is stored once for each key', async ({ store, clock }) => {
    await apply(store, ACME);
    const send = (id: string, ...key: Parameters<typeof request>) =>
      store.writeAllLeads([lead(id)], ALL_OF_ACME, undefined, request(...key));
    const first = await send('1', 'a', 'b', '1');
    assert(first.kind === 'written' && first.isRepeated === undefined);
    const again = await send('1', 'a', 'b', '1');
    assert.deepEqual(again, { ...first, isRepeated: true });
    assert.deepEqual(await send('2', 'a', 'c', '2'), { kind: 'key-reused' });
    // A rejected request does not use up its key.
    await problemsOf(store, [lead('3', { branchId: 'west' })]);
    assert.equal(
      (
        await store.writeAllLeads(
          [lead('3', { branchId: 'west' })],
          ALL_OF_ACME,
          undefined,
          request('d', 'e'),
        )
      ).kind,
      'rejected',
    );
    assert.equal((await send('3', 'd', 'f', '3')).kind, 'written');
    assert.deepEqual(idsOf((await poll(store)).leads), ['1', '3']);
    // After a long time the key is forgotten, but a derived id that exists shows that it was used.
    clock.now += 31 * DAY_MS;
    assert.equal((await send('4', 'e', 'e', '4')).kind, 'written');
    assert.deepEqual(await send('1', 'a', 'b', '1'), { kind: 'key-reused' });
    assert.deepEqual(idsOf((await poll(store)).leads), ['1', '3', '4']);
  }),

  check('all or nothing: leads are added and updated like those of a batch', async ({ store }) => {
    await apply(store, ACME);
    const email = 'ada@example.com';
    const [createdAt] = await stamp(store, [
      lead('old', { fields: { firstName: 'Ada', lastName: 'Byron', email } }),
    ]);
    const changed = lead('old', { fields: { lastName: 'Lovelace', email } });
    const results = await writeAll(store, [lead('new'), changed]);
    const { leads } = await poll(store);
    assert.deepEqual(idsOf(leads), ['old', 'new']);
    assert.deepEqual(results, [
      { kind: 'added', id: 'new', createdAt: leads[1]?.createdAt },
      { kind: 'updated', id: 'old', createdAt },
    ]);
    const { firstName, lastName } = await find(store, 'old');
    assert.deepEqual([firstName, lastName], ['Ada', 'Lovelace']);
  }),

  check('all or nothing: a lead without an id gets one, and an empty list is allowed', async ({ store }) => {
    await apply(store, ACME);
    assert.deepEqual(await writeAll(store, []), []);
    const [result] = await writeAll(store, [{ companyId: 'acme', fields: {} }]);
    assert.deepEqual(idsOf((await poll(store)).leads), [result?.id]);
  }),

  check(
    'all or nothing: if one lead is rejected, nothing is added, nothing is changed, and no stamp is used',
    async ({ store, openAnother }) => {
      await apply(store, ACME);
      await stamp(store, [lead('old')]);
      const before = await poll(store);
      const batch = [
        lead('a'),
        lead('old', { fields: { firstName: 'Eve' } }),
        lead('b', { branchId: 'west' }),
      ];
      const unknown: PlacementProblem = { field: 'branchId', reason: 'unknown', value: 'west' };
      assert.deepEqual(await problemsOf(store, batch), [[], [], [unknown]]);
      const other = await openAnother();
      assert.deepEqual((await poll(other)).leads, before.leads);
      const [next] = await writeAll(other, [lead('next')]);
      assert.equal(next?.createdAt, START + 2, 'the stamp after that of the first lead');
    },
  ),

  check('all or nothing: all problems of each lead are returned', async ({ store }) => {
    await apply(store, ACME);
    const wrong = lead('a', { branchId: 'west', departmentId: 'it', statusValue: 'UNKNOWN' });
    const [problems = []] = await problemsOf(store, [wrong, lead('b')]);
    assert.deepEqual(problems.map(({ field }) => field).sort(), ['branchId', 'departmentId', 'statusValue']);
  }),

  check('all or nothing: a lead is not placed outside of the scope', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    for (const [scope, input, problem] of OUTSIDE)
      assert.deepEqual(
        await problemsOf(store, [lead('1', input)], scope),
        [[problem]],
        JSON.stringify(input),
      );
    assert.deepEqual((await poll(store)).leads, []);
    await writeAll(store, [lead('1', { branchId: 'north' }), lead('2', { departmentId: 'sales' })], NORTH);
    await writeAll(store, [lead('3', { departmentId: 'sales' })], SALES);
    assert.deepEqual(idsOf((await poll(store)).leads), ['1', '2', '3']);
  }),

  check('all or nothing: a lead outside of the scope is neither changed nor moved', async ({ store }) => {
    await apply(store, ACME);
    await stamp(store, [lead('1', { branchId: 'south' }), lead('2', { departmentId: 'service' }), lead('3')]);
    const before = await store.readPage(FROM_THE_FIRST);
    const take: readonly [LeadScope, LeadInput][] = [
      [NORTH, lead('1', { branchId: 'north', fields: { firstName: 'Eve' } })],
      [NORTH, lead('3', { branchId: 'north' })],
      [SALES, lead('2', { departmentId: 'sales' })],
    ];
    for (const [scope, input] of take) {
      const problems = [[outside('id', input.id ?? '')]];
      assert.deepEqual(await problemsOf(store, [input], scope), problems);
      assert.deepEqual(await store.findPlacementProblems([input], { scope }), problems);
    }
    assert.deepEqual(await problemsOf(store, [lead('2', { branchId: 'south' })], NORTH), [
      [outside('branchId', 'south')],
    ]);
    assert.deepEqual((await store.readPage(FROM_THE_FIRST)).leads, before.leads);
  }),

  check('all or nothing: the account of the sender must have the scope', async ({ store, openAnother }) => {
    await apply(store, ACME, GLOBEX);
    const other = await openAnother();
    const isWritten = async (sender: VerifiedToken, scope: LeadScope, place: Partial<LeadInput> = {}) => {
      const { kind } = await store.writeAllLeads([lead('1', place)], scope, sender);
      if (kind === 'account-changed') assert.deepEqual((await poll(store)).leads, []);
      return kind === 'written';
    };
    const north = { branchId: 'north' };
    const token = { userId: 'north-lead', tokenId: 'a' };
    for (const [sender, scope] of [
      [{ userId: 'nobody' }, ALL_OF_ACME],
      [{ userId: 'boss ' }, ALL_OF_ACME],
      [{ userId: 'rival' }, ALL_OF_ACME],
      [{ userId: 'boss' }, NORTH],
      [token, ALL_OF_ACME],
      [token, { ...NORTH, branchId: 'south' }],
      [{ userId: 'seller' }, { ...SALES, departmentId: 'service' }],
    ] as const)
      assert.equal(await isWritten(sender, scope, north), false, JSON.stringify([sender, scope]));

    await other.updateUser('north-lead', { branchId: 'south' });
    assert.equal(await isWritten(token, NORTH, north), false, 'the user has another branch');
    await other.updateUser('north-lead', { branchId: 'north' });
    await other.revokeToken('a');
    assert.equal(await isWritten(token, NORTH, north), false, 'the token is revoked');
    await other.removeUser('boss');
    assert.equal(await isWritten({ userId: 'boss' }, ALL_OF_ACME), false, 'the user was removed');
    assert.equal(await isWritten({ userId: 'north-lead', tokenId: 'b' }, NORTH, north), true);
    assert.equal(await isWritten({ userId: 'north-lead' }, NORTH, north), true, 'a token without an id');
  }),

  ...Object.entries(ACCOUNT_CHANGES).map(([title, change]) =>
    check(
      `all or nothing: ${title} while leads are written is committed after them`,
      async ({ store, clock, openAnother }) => {
        await apply(store, ACME);
        const other = await openAnother();
        let storedBefore: Promise<readonly StoredLead[]> | undefined;
        clock.afterNextRead(() => {
          storedBefore = change(other).then(() => other.findLeads('1'));
        });
        const sender = { userId: 'boss', tokenId: 'a' };
        // So many that a change which does not wait is committed before them.
        const leads = Array.from({ length: 1000 }, (_, index) => lead(`${index}`));
        const { kind } = await store.writeAllLeads(leads, ALL_OF_ACME, sender);
        assert.equal((await storedBefore)?.length, kind === 'written' ? 1 : 0);
      },
    ),
  ),
];
