import fc from 'fast-check';
import type { User, VerifiedToken } from 'leadtap';
import { expect, it } from 'vitest';
import { CachedAccounts } from '../../src/poll/cache/account-cache.ts';

const userIds = ['ada', 'ben', 'cleo', 'dan'];
const userId = fc.constantFrom(...userIds);
/** An identity provider may give the same id to tokens of two users, or none. */
const tokenId = fc.constantFrom('1', '2', '3', '4', '5', undefined);
const token = fc.record({ userId, tokenId });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('set' as const), token, company: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('user' as const), userId }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('token' as const), tokenId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('all' as const) }) },
);

const userOf = (id: string, company: number): User => ({
  ...{ id, companyId: `company-${company}`, email: null, name: null },
  ...{ plan: 'PROFESSIONAL', accessLevel: 'COMPANY', branchId: null, departmentId: null },
});

/** The bytes of about this many accounts. */
const bytesOf = (accounts: number): number => accounts * 160;

it.each([2, 5, 100])('a cache of %d accounts has what was set last, or nothing', (accounts) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new CachedAccounts(bytesOf(accounts));
      let model: { readonly token: VerifiedToken; readonly company: number }[] = [];
      let found: { readonly token: VerifiedToken; readonly account: { readonly isCurrent: boolean } }[] = [];
      const invalidate = (concerns: (of: VerifiedToken) => boolean) => {
        model = model.filter((entry) => !concerns(entry.token));
        for (const entry of found.filter((other) => concerns(other.token)))
          expect(entry.account.isCurrent).toBe(false);
        found = found.filter((entry) => !concerns(entry.token));
      };
      for (const next of steps) {
        if (next.kind === 'set') {
          const isSame = (of: VerifiedToken) =>
            next.token.tokenId === undefined
              ? of.userId === next.token.userId && of.tokenId === undefined
              : of.tokenId === next.token.tokenId;
          cache.set(next.token, { isRevoked: false, user: userOf(next.token.userId, next.company) });
          invalidate(isSame);
          model.push(next);
        } else if (next.kind === 'user') {
          cache.invalidateUser(next.userId);
          invalidate((of) => of.userId === next.userId);
        } else if (next.kind === 'token' && next.tokenId !== undefined) {
          cache.invalidateToken(next.tokenId);
          invalidate((of) => of.tokenId === next.tokenId);
        } else if (next.kind === 'all') {
          cache.invalidateAll();
          invalidate(() => true);
        }
        const absent = userIds.map((id) => ({ userId: id, tokenId: '1' }));
        for (const of of [...model.map((entry) => entry.token), ...absent]) {
          const account = cache.find(of);
          const entry = model.find(
            (known) => known.token.userId === of.userId && known.token.tokenId === of.tokenId,
          );
          if (account) {
            expect(account.isCurrent).toBe(true);
            expect(account.user).toMatchObject({ id: of.userId, companyId: `company-${entry?.company}` });
            found.push({ token: of, account });
          } else if (accounts === 100) expect(entry).toBeUndefined();
        }
      }
    }),
    { numRuns: 100 },
  );
});
