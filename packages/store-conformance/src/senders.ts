import assert from 'node:assert/strict';
import type { SenderQuery, SenderStore, SenderSummary } from 'leadtap';
import { MAX_TOKENS_PER_USER } from '../../server/src/accounts/token-key.ts';
import { type ConformanceCheck, check, type Setup, START } from './check.ts';
import { ACME, apply, GLOBEX } from './sample.ts';

interface WithSenders extends Setup {
  readonly senders: SenderStore;
}

const checkSenders = (name: string, body: (setup: WithSenders) => Promise<void>): ConformanceCheck =>
  check(`senders: ${name}`, async (setup) => {
    const { senders } = setup.store;
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, senders });
  });

const DAY_MS = 86_400_000;
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
const TODAY = dayOf(START);

const requests = (
  userId: string,
  tokenId: string | null,
  rest: Partial<SenderSummary> = {},
): SenderSummary => ({
  ...{ userId, tokenId, tokenExpiresAt: null, source: null, lastRequestAt: START, writtenAt: START },
  ...{ lastAcceptedAt: null, lastRefusal: null, lastUnkeptAt: null, days: [] },
  ...rest,
});

const query = (rest: Partial<SenderQuery> = {}): SenderQuery => ({ limit: 100, now: START, ...rest });

const keysOf = (found: Awaited<ReturnType<SenderStore['list']>>) =>
  found.map(({ userId, tokenId }) => [userId, tokenId]);

const HOUR = Math.floor(START / 3_600_000);

export const senderChecks = [
  checkSenders(
    'what was recorded is listed, with the company and the name of the token',
    async ({ store, senders, openAnother }) => {
      const issued = { issuedAt: START, expiresAt: START + 1, scopes: ['leads:write'] };
      await store.recordTokens([{ id: 'a', userId: 'boss', name: 'Web form', ...issued }]);
      const refusal = {
        ...{ at: START, status: 422, code: 'invalid-lead' as const },
        fields: ['Votre «téléphone»', 'a\0b', '\ud800'],
      };
      const times = { tokenExpiresAt: START + 9, lastAcceptedAt: START - 5, lastUnkeptAt: START };
      const summary = requests('boss', 'a', {
        ...{ ...times, source: 'tally', lastRefusal: refusal, days: [[TODAY, 3, 1]] },
        hours: [[HOUR, 3, 1]],
      });
      await senders.record([summary]);
      const other = await openAnother();
      assert.deepEqual(await other.senders.list(query()), [
        {
          ...{ userId: 'boss', tokenId: 'a', companyId: 'acme', source: 'tally', ...times },
          ...{ firstRequestAt: START, lastRequestAt: START, lastRefusal: refusal, days: [[TODAY, 3, 1]] },
          ...{ name: 'Web form', tokenIssuedAt: START, isRevoked: false, isReplaced: false },
          hours: `[${HOUR},[${HOUR},3,1]]`,
        },
      ]);
    },
  ),

  checkSenders(
    'two stores that write in any order keep the last times, and the sums of each day',
    async (setup) => {
      const other = await setup.openAnother();
      const refusalAt = (at: number, status = 422) => ({
        ...{ at, status, code: 'invalid-lead' as const, fields: [] },
      });
      const yesterday = dayOf(START - DAY_MS);
      await other.senders.record([
        requests('boss', 'a', {
          ...{ lastRequestAt: START + 2000, tokenExpiresAt: START + 9, lastRefusal: refusalAt(START + 1000) },
          days: [[TODAY, 1, 2]],
        }),
      ]);
      await setup.senders.record([
        requests('boss', 'a', {
          ...{
            lastRequestAt: START + 1500,
            lastAcceptedAt: START + 1500,
            lastRefusal: refusalAt(START, 401),
          },
          ...{
            source: undefined,
            days: [
              [yesterday, 5, 0],
              [TODAY, 10, 20],
            ],
          },
        }),
      ]);
      const [found] = await setup.senders.list(query());
      assert.deepEqual(
        { ...found },
        {
          ...found,
          ...{ firstRequestAt: START + 1500, lastRequestAt: START + 2000, tokenExpiresAt: START + 9 },
          ...{ lastAcceptedAt: START + 1500, lastRefusal: refusalAt(START + 1000) },
          ...{
            source: null,
            days: [
              [yesterday, 5, 0],
              [TODAY, 11, 22],
            ],
          },
        },
      );
    },
  ),

  checkSenders(
    'days are counted for 30 days, and times of a clock that was set back since are replaced',
    async ({ senders }) => {
      const future = START + 40 * DAY_MS;
      await senders.record([
        requests('boss', 'a', {
          ...{ lastRequestAt: future, lastAcceptedAt: future, lastUnkeptAt: future, writtenAt: future },
          ...{ lastRefusal: { at: future, status: 422, code: 'invalid-lead', fields: [] } },
          days: [[dayOf(future), 7, 7]],
        }),
      ]);
      const days = Array.from({ length: 31 }, (_, age): [string, number, number] => [
        dayOf(START - (30 - age) * DAY_MS),
        1,
        0,
      ]);
      await senders.record([requests('boss', 'a', { lastAcceptedAt: START, days })]);
      const [found] = await senders.list(query());
      assert.deepEqual(
        { ...found },
        {
          ...found,
          ...{ firstRequestAt: START, lastRequestAt: START, lastAcceptedAt: START },
          ...{ lastRefusal: null, lastUnkeptAt: null, days: days.slice(1) },
        },
      );
    },
  ),

  checkSenders(
    'at most 100 tokens of a user have a row each, and a refused token only if it was issued for its user',
    async ({ store, senders }) => {
      const name = (index: number) => `token-${String(index).padStart(3, '0')}`;
      const tokens = Array.from({ length: MAX_TOKENS_PER_USER + 2 }, (_, index) => name(index));
      await senders.record(tokens.map((tokenId) => requests('boss', tokenId, { days: [[TODAY, 1, 0]] })));
      const issued = { issuedAt: START, expiresAt: START + 1, scopes: ['leads:write'], name: null };
      await store.recordTokens([{ id: 'issued', userId: 'seller', ...issued }]);
      const refused = { mustBeIssued: true };
      await senders.record([
        requests('seller', 'issued', refused),
        requests('seller', 'made-up', refused),
        requests('rival', 'issued', refused),
        requests('nobody', 'a'),
      ]);
      const found = await senders.list(query({ limit: 1000 }));
      assert.equal(found.length, MAX_TOKENS_PER_USER + 2);
      assert.deepEqual(found[0]?.days, [[TODAY, 2, 0]]);
      assert.equal(found[0]?.tokenId, null);
      assert.deepEqual(keysOf(found).at(-1), ['seller', 'issued']);
    },
  ),

  checkSenders(
    'a list is sorted, of a company or a user alone, and page by page',
    async ({ senders, store }) => {
      await senders.record([
        requests('seller', 'b'),
        requests('seller', null),
        requests('boss', 'z'),
        requests('rival', 'r'),
      ]);
      const all = [
        ['boss', 'z'],
        ['rival', 'r'],
        ['seller', null],
        ['seller', 'b'],
      ];
      assert.deepEqual(keysOf(await senders.list(query())), all);
      assert.deepEqual(keysOf(await senders.list(query({ companyId: 'globex' }))), [['rival', 'r']]);
      assert.deepEqual(keysOf(await senders.list(query({ companyId: 'acme' }))), [all[0], all[2], all[3]]);
      assert.deepEqual(keysOf(await senders.list(query({ userId: 'seller' }))), all.slice(2));
      const after = { userId: 'boss', tokenId: 'z' };
      assert.deepEqual(keysOf(await senders.list(query({ after, limit: 2 }))), all.slice(1, 3));
      assert.deepEqual(await senders.list(query({ companyId: '\0' })), []);
      await store.removeUser('seller');
      assert.deepEqual(keysOf(await senders.list(query())), all.slice(0, 2));
    },
  ),

  checkSenders(
    'one is replaced when leads of another token of its user, name and source came after it',
    async ({ senders, store }) => {
      const issued = {
        userId: 'boss',
        issuedAt: START,
        expiresAt: START + 9,
        scopes: ['leads:write' as const],
      };
      await store.recordTokens([
        { ...issued, id: 'old', name: 'Renewed' },
        { ...issued, id: 'new', name: 'Renewed' },
        { ...issued, id: 'form a', name: 'Form A' },
        { ...issued, id: 'form b', name: 'Form B' },
      ]);
      const later = { lastRequestAt: START + 1, lastAcceptedAt: START + 1 };
      await senders.record([
        requests('boss', 'old', { source: 'tally' }),
        requests('boss', 'new', { source: 'tally', ...later }),
        requests('boss', 'other', { source: 'typeform' }),
        requests('boss', 'form a', { source: 'tally' }),
        requests('boss', 'form b', { source: 'tally', ...later }),
        requests('boss', 'no name', { source: 'tally' }),
        requests('boss', 'no name either', { source: 'tally', ...later }),
        requests('seller', 'of another user', { source: 'tally' }),
      ]);
      const found = await senders.list(query());
      assert.deepEqual(
        found.filter(({ isReplaced }) => isReplaced).map(({ tokenId }) => tokenId),
        ['old'],
      );
    },
  ),

  checkSenders(
    'revoked tokens that stopped, old ones and those without a company are pruned',
    async ({ store, senders }) => {
      const old = { lastRequestAt: START - 31 * DAY_MS };
      await senders.record([
        requests('boss', 'revoked', old),
        requests('boss', 'revoked in use'),
        requests('boss', 'older', { lastRequestAt: START - 50 * DAY_MS }),
        requests('boss', 'kept', old),
        requests('seller', 'removed'),
      ]);
      await store.revokeToken('revoked');
      await store.revokeToken('revoked in use');
      await store.removeUser('seller');
      const left = [
        ['boss', 'kept'],
        ['boss', 'older'],
        ['boss', 'revoked in use'],
      ];
      assert.deepEqual(keysOf(await senders.list(query())), left);
      assert.equal(await senders.prune(START, START - 40 * DAY_MS), 2);
      assert.deepEqual(keysOf(await senders.list(query())), [left[0], left[2]]);
      assert.equal(await senders.prune(START + 30 * DAY_MS, START - 40 * DAY_MS), 2);
      assert.deepEqual(keysOf(await senders.list(query())), [left[0]]);
    },
  ),

  checkSenders(
    'of a user who does not exist, tokens that were issued are listed for a week after a refused request',
    async ({ store, senders }) => {
      const issued = { name: null, issuedAt: START, expiresAt: START + 1, scopes: ['leads:write'] };
      await store.recordTokens([
        { id: 'a', userId: 'seller', ...issued },
        { id: 'b', userId: 'seller', ...issued },
        { id: 'c', userId: 'rival', ...issued },
      ]);
      await senders.record([requests('seller', 'a'), requests('seller', 'other'), requests('rival', 'c')]);
      await store.removeUser('seller');
      assert.deepEqual(keysOf(await senders.list(query({ companyId: 'acme' }))), []);
      const lastRefusal = { at: START, status: 404, code: 'user-not-found' as const, fields: [] };
      const refused = { lastRefusal, lastUnkeptAt: START, days: [[TODAY, 0, 1, 1] as const] };
      await senders.record([
        requests('seller', 'a', refused),
        requests('seller', 'b', refused),
        requests('seller', 'other', refused),
        requests('nobody', 'a', refused),
        requests('seller', null, refused),
      ]);
      const listed = async (rest: Partial<SenderQuery>) =>
        (await senders.list(query(rest))).map(({ tokenId, companyId, days }) => [
          tokenId,
          companyId,
          ...days,
        ]);
      const a = ['a', 'acme', [TODAY, 0, 1, 1]];
      assert.deepEqual(await listed({ companyId: 'acme' }), [a]);
      assert.deepEqual(await listed({ companyId: 'globex' }), [['c', 'globex']]);
      assert.deepEqual(await listed({ userId: 'seller', now: START + 7 * DAY_MS }), [
        a,
        ['b', '', [TODAY, 0, 1, 1]],
      ]);
      assert.deepEqual(await listed({ userId: 'seller', now: START + 7 * DAY_MS + 1 }), []);
      await senders.clearUnkept([{ userId: 'seller', tokenId: 'a' }]);
      assert.deepEqual(await listed({ companyId: 'acme' }), []);
    },
  ),

  checkSenders(
    'requests that are not kept are counted by day, until they are cleared',
    async ({ senders }) => {
      const unkept = (tokenId: string, day: SenderSummary['days'][number]) =>
        requests('boss', tokenId, { lastUnkeptAt: START, days: [day] });
      await senders.record([unkept('a', [TODAY, 1, 2, 2]), unkept('b', [TODAY, 0, 1, 1])]);
      await senders.record([unkept('a', [TODAY, 0, 3, 1])]);
      const days = async () => (await senders.list(query())).map((one) => [one.lastUnkeptAt, ...one.days]);
      const other = [START, [TODAY, 0, 1, 1]];
      assert.deepEqual(await days(), [[START, [TODAY, 1, 5, 3]], other]);
      await senders.clearUnkept([
        { userId: 'boss', tokenId: 'a' },
        { userId: 'boss', tokenId: 'unknown' },
      ]);
      assert.deepEqual(await days(), [[null, [TODAY, 1, 5]], other]);
    },
  ),
];
