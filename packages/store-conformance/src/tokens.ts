import assert from 'node:assert/strict';
import type { IssuedToken } from 'leadtap';
import { check, START } from './check.ts';
import { ACME, apply, isRevoked } from './sample.ts';

const token = (id: string, rest: Partial<IssuedToken> = {}): IssuedToken => ({
  id,
  userId: 'boss',
  name: null,
  issuedAt: START,
  expiresAt: START + 90 * 86_400_000,
  scopes: ['leads:read'],
  settings: {},
  ...rest,
});

export const tokenChecks = [
  check('tokens: a recorded token is found, also for a user who does not exist', async ({ store }) => {
    const scopes = ['leads:read', 'leads:write'];
    const recorded = token('a', { name: 'Zapier', userId: 'not-there-yet', scopes });
    await store.recordTokens([recorded]);
    assert.deepEqual(await store.findToken('a'), recorded);
    assert.equal(await store.findToken('b'), undefined);
  }),

  check('tokens: the tokens of one user are listed in the order of issue', async ({ store }) => {
    const later = token('a', { issuedAt: START + 2 });
    const sooner = token('b', { issuedAt: START + 1, name: 'Make', scopes: ['leads:write'] });
    await store.recordTokens([later, sooner, token('c', { userId: 'seller' })]);
    assert.deepEqual(await store.listTokens('boss'), [
      { ...sooner, revokedAt: null },
      { ...later, revokedAt: null },
    ]);
    assert.deepEqual(await store.listTokens('unknown'), []);
  }),

  check(
    'tokens: revoking a token affects this token alone, at once, in every store',
    async ({ store, clock, openAnother }) => {
      const other = await openAnother();
      await store.recordTokens([token('a'), token('b', { issuedAt: START + 1 })]);
      clock.now += 5;
      assert.equal(await store.revokeToken('a'), true);
      assert.equal(await isRevoked(other, 'a'), true);
      assert.equal(await isRevoked(other, 'b'), false);
      const revokedAt = (await other.listTokens('boss')).map((listed) => listed.revokedAt);
      assert.deepEqual(revokedAt, [START + 5, null]);
    },
  ),

  check('tokens: revoking again returns false and keeps the first time', async ({ store, clock }) => {
    await store.recordTokens([token('a')]);
    await store.revokeToken('a');
    clock.now += 5;
    assert.equal(await store.revokeToken('a'), false);
    assert.equal((await store.listTokens('boss'))[0]?.revokedAt, START);
  }),

  check('tokens: those of a removed user are revoked, and no others', async ({ store, clock }) => {
    await apply(store, ACME);
    await store.recordTokens([token('a'), token('b'), token('c', { userId: 'seller' })]);
    await store.recordTokens([token('d', { userId: 'not-there-yet' })]);
    await store.revokeToken('a');
    clock.now += 5;
    await store.removeUser('boss');
    await store.removeUser('not-there-yet');
    const listed = await Promise.all(
      ['boss', 'seller', 'not-there-yet'].map((userId) => store.listTokens(userId)),
    );
    assert.deepEqual(
      listed.flat().map(({ id, revokedAt }) => [id, revokedAt]),
      [
        ['a', START],
        ['b', START + 5],
        ['c', null],
        ['d', null],
      ],
    );
  }),

  check(
    'tokens: a token of an identity provider, which was never recorded, can be revoked',
    async ({ store }) => {
      assert.equal(await isRevoked(store, 'foreign'), false);
      assert.equal(await store.revokeToken('foreign'), true);
      assert.equal(await isRevoked(store, 'foreign'), true);
      assert.equal(await store.findToken('foreign'), undefined);
    },
  ),

  check('tokens: recording an empty list is allowed', async ({ store }) => {
    await store.recordTokens([]);
    assert.deepEqual(await store.listTokens('boss'), []);
  }),
];
