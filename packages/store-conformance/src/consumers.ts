import assert from 'node:assert/strict';
import type { ConsumerQuery, ConsumerStore, PollSummary } from 'leadtap';
import { type ConformanceCheck, check, type Setup, START } from './check.ts';
import { ACME, apply, GLOBEX, lead, stamp } from './sample.ts';

interface WithConsumers extends Setup {
  readonly consumers: ConsumerStore;
}

/** Skipped for a store without `consumers`. */
const checkConsumers = (name: string, body: (setup: WithConsumers) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    const { consumers } = setup.store;
    if (!consumers) return;
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, consumers });
  });

const polls = (userId: string, tokenId: string | null, rest: Partial<PollSummary> = {}): PollSummary => ({
  ...{ userId, tokenId, tokenExpiresAt: null, lastPollAt: START, lastStatus: 200, polls: 1 },
  ...{ waitingUntil: null, confirmedThrough: null, claimedThrough: null, deliveredThrough: null },
  ...{ newestFrom: null, gap: null },
  ...rest,
});

const query = (rest: Partial<ConsumerQuery> = {}): ConsumerQuery => ({
  limit: 100,
  maxWaiting: 100,
  now: START,
  ...rest,
});

const keysOf = (consumers: Awaited<ReturnType<ConsumerStore['list']>>) =>
  consumers.map(({ userId, tokenId }) => [userId, tokenId]);

export const consumerChecks = [
  checkConsumers(
    'consumers: what was recorded is listed, with the user and the name of the token',
    async ({ store, consumers, openAnother }) => {
      const issued = { issuedAt: START, expiresAt: START + 1, scopes: ['leads:read'] };
      await store.recordTokens([{ id: 'a', userId: 'boss', name: 'Zapier', ...issued }]);
      const times = { tokenExpiresAt: START + 9, waitingUntil: START + 8 };
      const positions = { confirmedThrough: START - 7, deliveredThrough: START - 6 };
      const gap = { after: START - 5, before: START - 4 };
      await consumers.record([
        polls('boss', 'a', { ...times, ...positions, gap, lastStatus: 304, polls: 3 }),
      ]);
      const other = await openAnother();
      const { id, companyId } = { id: 'boss', companyId: 'acme' };
      assert.deepEqual(await other.consumers?.list(query()), [
        {
          ...{
            userId: 'boss',
            tokenId: 'a',
            firstPollAt: START,
            lastPollAt: START,
            lastStatus: 304,
            polls: 3,
          },
          ...{ ...times, ...positions, gap, intervalMs: null, name: 'Zapier' },
          ...{ waiting: 0, waitingSince: null, skipped: 0 },
          user: {
            ...{ id, companyId, plan: 'PROFESSIONAL', accessLevel: 'COMPANY' },
            ...{ branchId: null, departmentId: null },
          },
        },
      ]);
    },
  ),

  checkConsumers(
    'consumers: two stores that write in any order keep the largest positions and the last poll',
    async ({ consumers, openAnother }) => {
      const other = await openAnother();
      const later = { lastPollAt: START + 2000, lastStatus: 304, deliveredThrough: START + 20 };
      const sooner = { lastPollAt: START + 1000, lastStatus: 503, confirmedThrough: START + 10 };
      await other.consumers?.record([polls('boss', 'a', { ...later, confirmedThrough: START })]);
      await consumers.record([polls('boss', 'a', { ...sooner, deliveredThrough: START })]);
      const [found] = await consumers.list(query());
      assert.deepEqual(
        { ...found },
        {
          ...found,
          ...{ firstPollAt: START + 1000, lastPollAt: START + 2000, lastStatus: 304, polls: 2 },
          ...{ confirmedThrough: START + 10, deliveredThrough: START + 20 },
        },
      );
    },
  ),

  checkConsumers('consumers: a consumer may be in a batch twice', async ({ consumers }) => {
    await consumers.record([
      polls('boss', 'a', { deliveredThrough: START + 1 }),
      polls('boss', 'a', { lastPollAt: START + 60_000, confirmedThrough: START + 1 }),
    ]);
    const [found] = await consumers.list(query());
    assert.equal(found?.polls, 2);
    assert.equal(found?.intervalMs, 60_000);
    assert.equal(found?.confirmedThrough, START + 1);
  }),

  checkConsumers(
    'consumers: a since ahead of the clock counts if the company has given such a stamp',
    async ({ store, consumers }) => {
      const [stamped = 0] = await stamp(store, [lead('1')]);
      await consumers.record([
        polls('boss', 'a', { confirmedThrough: START, claimedThrough: stamped }),
        polls('boss', 'b', { confirmedThrough: START, claimedThrough: stamped + 1 }),
        polls('rival', 'a', { confirmedThrough: START, claimedThrough: stamped }),
      ]);
      const found = (await consumers.list(query())).map(({ confirmedThrough }) => confirmedThrough);
      assert.deepEqual(found, [stamped, START, START]);
    },
  ),

  checkConsumers(
    'consumers: waiting and skipped leads are those that the user may see',
    async ({ store, consumers }) => {
      const [first = 0, second = 0, third = 0, fourth = 0] = await stamp(store, [
        lead('1', { branchId: 'north' }),
        lead('2', { departmentId: 'sales' }),
        lead('3', { branchId: 'south' }),
        lead('4', { departmentId: 'sales' }),
      ]);
      await stamp(store, [lead('5', { companyId: 'globex' })]);
      await consumers.record([
        polls('boss', 'a'),
        polls('boss', 'b', { confirmedThrough: first, deliveredThrough: second }),
        polls('boss', 'c', { deliveredThrough: fourth, gap: { after: first, before: fourth } }),
        polls('boss', 'd', {
          deliveredThrough: fourth,
          confirmedThrough: second,
          gap: { after: first, before: fourth },
        }),
        polls('north-lead', 'a', { deliveredThrough: first }),
        polls('seller', 'a', { confirmedThrough: second, gap: { after: first - 1, before: fourth } }),
      ]);
      const counts = (await consumers.list(query())).map(
        ({ userId, tokenId, waiting, waitingSince, skipped }) => [
          `${userId} ${tokenId}`,
          waiting,
          waitingSince,
          skipped,
        ],
      );
      assert.deepEqual(counts, [
        ['boss a', 4, first, 0],
        ['boss b', 2, third, 0],
        ['boss c', 0, null, 2],
        ['boss d', 0, null, 1],
        ['north-lead a', 2, second, 0],
        ['seller a', 1, fourth, 0],
      ]);
      const [capped] = await consumers.list(query({ maxWaiting: 3 }));
      assert.equal(capped?.waiting, 3);
      assert.equal(capped?.waitingSince, first);
    },
  ),

  checkConsumers(
    'consumers: are listed page by page, sorted by user and token, of all, one company or one user',
    async ({ consumers }) => {
      await consumers.record([
        ...[
          polls('rival', 'a'),
          polls('boss', 'b'),
          polls('boss', null),
          polls('seller', 'a'),
          polls('boss', 'a'),
        ],
      ]);
      const acme = [
        ['boss', null],
        ['boss', 'a'],
        ['boss', 'b'],
        ['seller', 'a'],
      ];
      const all = [...acme.slice(0, 3), ['rival', 'a'], ['seller', 'a']];
      for (const [part, expected] of [
        [{}, all],
        [{ companyId: 'acme' }, acme],
        [{ userId: 'boss' }, acme.slice(0, 3)],
        [{ companyId: 'unknown' }, []],
        [{ userId: 'unknown' }, []],
      ] as const) {
        assert.deepEqual(keysOf(await consumers.list(query(part))), expected);
        const found = [];
        for (let after: ConsumerQuery['after']; ; ) {
          const page = await consumers.list(query({ ...part, after, limit: 2 }));
          found.push(...page);
          after = page.at(-1);
          if (page.length < 2) break;
        }
        assert.deepEqual(keysOf(found), expected);
      }
    },
  ),

  checkConsumers(
    'consumers: revoked tokens, removed users and expired tokens that were not issued here do not count, and are pruned',
    async ({ store, consumers }) => {
      const issued = { name: null, issuedAt: START, expiresAt: START, scopes: ['leads:read'] };
      await store.recordTokens([{ id: 'issued', userId: 'boss', ...issued }]);
      const expired = { tokenExpiresAt: START };
      await consumers.record([
        polls('boss', 'issued', expired),
        polls('boss', 'revoked'),
        polls('boss', 'expired', expired),
        polls('boss', 'valid', { tokenExpiresAt: START + 1 }),
        polls('boss', 'old', { lastPollAt: START - 1000 }),
        polls('north-lead', 'removed'),
      ]);
      await store.revokeToken('revoked');
      await store.removeUser('north-lead');
      const listed = [
        ['boss', 'issued'],
        ['boss', 'old'],
        ['boss', 'valid'],
      ];
      assert.deepEqual(keysOf(await consumers.list(query())), listed);
      assert.equal(await consumers.prune(START, START - 999), 4);
      assert.deepEqual(
        keysOf(await consumers.list(query())),
        listed.filter(([, tokenId]) => tokenId !== 'old'),
      );
      assert.equal(await consumers.prune(START, START - 999), 0);
    },
  ),

  checkConsumers(
    'consumers: recording adds nothing to the change log',
    async ({ store: { changeTracking }, consumers }) => {
      if (!changeTracking) return;
      const request = { companies: ['acme'], bearers: [] };
      const { seen } = await changeTracking.revalidate(request, undefined);
      await consumers.record([polls('boss', 'a', { deliveredThrough: START })]);
      await consumers.prune(START + 1, START + 1);
      const { changes } = await changeTracking.revalidate(request, seen);
      assert.deepEqual(changes, []);
    },
  ),
];
