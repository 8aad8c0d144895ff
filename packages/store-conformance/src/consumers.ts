import assert from 'node:assert/strict';
import type { ConsumerQuery, ConsumerStore, PollSummary } from 'leadtap';
import { MAX_TOKENS_PER_USER } from '../../server/src/accounts/token-key.ts';
import { type ConformanceCheck, check, type Setup, START } from './check.ts';
import { ACME, apply, GLOBEX, lead, stamp } from './sample.ts';

interface WithConsumers extends Setup {
  readonly consumers: ConsumerStore;
}

const checkConsumers = (name: string, body: (setup: WithConsumers) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    const { consumers } = setup.store;
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, consumers });
  });

const polls = (userId: string, tokenId: string | null, rest: Partial<PollSummary> = {}): PollSummary => ({
  ...{ userId, tokenId, tokenExpiresAt: null, lastPollAt: START, lastStatus: 200, polls: 1 },
  ...{ heldUntil: null, confirmedThrough: null, deliveredThrough: null, sent: [] },
  ...rest,
});

const query = (rest: Partial<ConsumerQuery> = {}): ConsumerQuery => ({
  limit: 100,
  maxPendingLeads: 100,
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
      const times = { tokenExpiresAt: START + 9, heldUntil: START + 8 };
      const positions = { confirmedThrough: START - 7, deliveredThrough: START - 6 };
      const summary = polls('boss', 'a', { ...times, ...positions, lastStatus: 304, polls: 3 });
      assert.deepEqual(await consumers.record([summary]), [{ userId: 'boss', tokenId: 'a' }]);
      const other = await openAnother();
      const { id, companyId } = { id: 'boss', companyId: 'acme' };
      assert.deepEqual(await other.consumers.list(query()), [
        {
          ...{
            userId: 'boss',
            tokenId: 'a',
            firstPollAt: START,
            lastPollAt: START,
            lastStatus: 304,
            polls: 3,
          },
          ...{ ...times, ...positions, intervalMs: null, name: 'Zapier', tokenIssuedAt: START },
          ...{
            pendingLeads: 0,
            pendingSince: null,
            gaps: [],
            scopes: null,
            hours: `[${Math.floor(START / 3_600_000)}]`,
            missedLeads: [],
            skippedLeads: 0,
            skippedSince: null,
          },
          ...{ confirmedAt: START, unconfirmedSince: null, tokenEnded: null, downtime: null },
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
      await other.consumers.record([polls('boss', 'a', { ...later, confirmedThrough: START })]);
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
    'consumers: at most 100 tokens of a user have a row each; the others merge into the row without an id',
    async ({ consumers }) => {
      const name = (index: number) => `token-${String(index).padStart(3, '0')}`;
      const record = async (from: number, to: number, rest: Partial<PollSummary> = {}) => {
        const tokens = Array.from({ length: to - from }, (_, index) => name(from + index));
        const keys = await consumers.record(tokens.map((tokenId) => polls('boss', tokenId, rest)));
        return keys.map(({ tokenId }) => tokenId);
      };
      await consumers.record([polls('boss', null, { deliveredThrough: START + 9 })]);
      await record(0, MAX_TOKENS_PER_USER - 1);
      // In one batch: one more has a row of its own, and two are too many.
      const last = MAX_TOKENS_PER_USER - 1;
      assert.deepEqual(await record(last, last + 3, { confirmedThrough: START + 5 }), [
        name(last),
        null,
        null,
      ]);
      // In another batch, together with tokens that are known.
      assert.deepEqual(await record(last, last + 2), [name(last), null]);
      await consumers.record([polls('seller', 'another-user')]);
      const found = await consumers.list(query({ limit: 1000 }));
      assert.equal(found.length, MAX_TOKENS_PER_USER + 2);
      const { tokenId, polls: count, confirmedThrough, deliveredThrough } = found[0] ?? {};
      assert.deepEqual(
        { tokenId, count, confirmedThrough, deliveredThrough },
        { tokenId: null, count: 4, confirmedThrough: START + 5, deliveredThrough: START + 9 },
      );
    },
  ),

  checkConsumers('consumers: pending leads are those that the user may see', async ({ store, consumers }) => {
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
      polls('boss', 'c', { deliveredThrough: fourth }),
      polls('north-lead', 'a', { deliveredThrough: first }),
      polls('seller', 'a', { confirmedThrough: second }),
    ]);
    const expected = [
      ['boss a', 4, first],
      ['boss b', 2, third],
      ['boss c', 0, null],
      ['north-lead a', 2, second],
      ['seller a', 1, fourth],
    ];
    for (const userId of [undefined, 'boss', 'north-lead', 'seller']) {
      const listed = await consumers.list(query({ userId }));
      assert.deepEqual(
        listed.map((one) => [`${one.userId} ${one.tokenId}`, one.pendingLeads, one.pendingSince]),
        expected.filter(([key]) => userId === undefined || String(key).startsWith(userId)),
      );
    }
    const [capped] = await consumers.list(query({ maxPendingLeads: 3 }));
    assert.equal(capped?.pendingLeads, 3);
    const ofUser = await consumers.list(query({ userId: 'boss', maxPendingLeads: 3 }));
    assert.deepEqual(
      ofUser.map(({ pendingLeads }) => pendingLeads),
      [3, 2, 0],
    );
    const pendingOf = async (userId: string, since: number) => {
      const pending = await consumers.findPending({ userId, since, maxPendingLeads: 3 });
      return pending && [pending.user.companyId, pending.pendingLeads, pending.pendingSince];
    };
    assert.deepEqual(await pendingOf('boss', 0), ['acme', 3, first]);
    assert.deepEqual(await pendingOf('boss', third), ['acme', 1, fourth]);
    assert.deepEqual(await pendingOf('boss', fourth), ['acme', 0, null]);
    assert.equal(await pendingOf('unknown', 0), undefined);
    assert.equal(capped?.pendingSince, first);
  }),

  checkConsumers(
    'consumers: leads that one asks past without being sent them are gaps, until they are sent',
    async ({ store, consumers, openAnother }) => {
      const other = (await openAnother()).consumers;
      const names = ['1', '2', '3', '4', '5', '6'];
      const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = await stamp(
        store,
        names.map((id) => lead(id)),
      );
      const record = async (summary: Partial<PollSummary>, by = consumers) => {
        await by.record([polls('boss', 'a', summary)]);
        const [found] = await consumers.list(query());
        const gaps = found?.gaps.map(({ after, through, isBeforeStart }) => [after, through, isBeforeStart]);
        return { gaps, skipped: [found?.skippedLeads, found?.skippedSince] };
      };
      const none = [0, null];
      // Its first position.
      const start = { gaps: [[null, b, true]], skipped: none };
      assert.deepEqual(await record({ confirmedThrough: b }), start);
      const third = { confirmedThrough: b, deliveredThrough: c, sent: [{ after: b, through: c }] };
      assert.deepEqual(await record(third), start);
      // It asks past two leads, which the other instance has sent, but writes later.
      assert.deepEqual(await record({ confirmedThrough: e }), {
        gaps: [
          [null, b, true],
          [c, e, false],
        ],
        skipped: [2, d],
      });
      const fourth = { deliveredThrough: d, sent: [{ after: c, through: d }] };
      assert.deepEqual(await record(fourth, other), {
        gaps: [
          [null, b, true],
          [d, e, false],
        ],
        skipped: [1, e],
      });
      // It goes back, and reads from the middle of what was before its start.
      assert.deepEqual(await record({ deliveredThrough: f, sent: [{ after: a, through: f }] }), {
        gaps: [[null, a, true]],
        skipped: none,
      });
      assert.deepEqual(await record({ deliveredThrough: b, sent: [{ after: null, through: b }] }), {
        gaps: [],
        skipped: none,
      });
    },
  ),

  checkConsumers(
    'consumers: gaps without a lead that the user may see are not kept, and there are at most 10 of them',
    async ({ store, consumers }) => {
      const places = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? 'north' : 'south'));
      const stamps = await stamp(
        store,
        places.map((branchId, index) => lead(String(index), { branchId })),
      );
      const [first = 0] = stamps;
      const start = { deliveredThrough: first, sent: [{ after: null, through: first }] };
      // Each poll asks past the next lead, of the north and the south in turns.
      const steps = stamps.slice(1).map((confirmedThrough) => ({ confirmedThrough }));
      for (const step of [start, ...steps])
        await consumers.record([polls('boss', 'a', step), polls('north-lead', 'a', step)]);
      const [boss, north] = await consumers.list(query());
      const merged = { after: first, through: stamps.at(-10), isBeforeStart: false };
      const { recordedAt: _, ...oldest } = boss?.gaps[0] ?? {};
      assert.deepEqual([boss?.gaps.length, boss?.skippedLeads, oldest], [10, 23, merged]);
      assert.equal(north?.skippedLeads, 11);
      await consumers.record([polls('north-lead', 'b', start)]);
      await consumers.record([polls('north-lead', 'b', { confirmedThrough: stamps[1] ?? 0 })]);
      const last = (await consumers.list(query({ userId: 'north-lead' }))).at(-1);
      assert.deepEqual([last?.gaps, last?.skippedLeads, last?.pendingLeads], [[], 0, 11]);
    },
  ),

  checkConsumers('consumers: downtimes of a whole hour are listed for 25 hours', async ({ consumers }) => {
    const HOUR_MS = 3_600_000;
    const first = Math.ceil(START / HOUR_MS) * HOUR_MS;
    const hour = (count: number) => first + count * HOUR_MS;
    const found = async () =>
      (await consumers.listDowntimes()).map(({ unavailableSince, availableSince }) =>
        [unavailableSince, availableSince].map((at) => (at - first) / HOUR_MS),
      );
    assert.deepEqual(await found(), []);
    await consumers.recordDowntime(hour(3), hour(1.5));
    // Neither has a whole hour.
    await consumers.recordDowntime(hour(3.1), hour(3));
    await consumers.recordDowntime(hour(4.9), hour(3.1));
    assert.deepEqual(await found(), [[1.5, 3]]);
    await consumers.recordStop(hour(5));
    await consumers.recordDowntime(hour(8));
    assert.deepEqual(await found(), [
      [1.5, 3],
      [5, 8],
    ]);
    await consumers.recordDowntime(hour(29), hour(29));
    assert.deepEqual(await found(), [[5, 8]]);
  }),

  checkConsumers(
    'consumers: after a crash, a client that asks for what comes after a lead has got it; after a stop it has skipped it',
    async ({ store, consumers }) => {
      const [a = 0, b = 0] = await stamp(store, [lead('1'), lead('2')]);
      const at = { lastPollAt: START, writtenAt: START };
      const sent = { deliveredThrough: a, sent: [{ after: null, through: a }] };
      await consumers.record(['exact', 'now', 'later'].map((id) => polls('boss', id, { ...at, ...sent })));
      await consumers.record([polls('boss', 'later', { lastPollAt: START + 2000 })]);
      await consumers.recordDowntime(START + 1000);
      const later = { lastPollAt: START + 3000, writtenAt: START + 3000 };
      await consumers.record([
        polls('boss', 'exact', { ...later, confirmedThrough: b }),
        polls('boss', 'now', { ...later, confirmedThrough: b + 1 }),
        polls('boss', 'later', { ...later, confirmedThrough: b }),
      ]);
      const found = (await consumers.list(query())).map(({ tokenId, gaps }) => [tokenId, gaps.length]);
      assert.deepEqual(found, [
        ['exact', 0],
        ['later', 1],
        ['now', 1],
      ]);
      const [c = 0] = await stamp(store, [lead('3')]);
      await consumers.recordStop(START + 4000);
      await consumers.recordDowntime(START + 5000);
      const last = { lastPollAt: START + 6000, writtenAt: START + 6000 };
      await consumers.record([polls('boss', 'exact', { ...last, confirmedThrough: c })]);
      assert.equal((await consumers.list(query()))[0]?.skippedLeads, 1);
    },
  ),

  checkConsumers(
    'consumers: what was sent while polls were not recorded is not known, and is no gap',
    async ({ store, consumers, openAnother }) => {
      const other = (await openAnother()).consumers;
      const before = START - 120_000;
      const [a = 0] = await stamp(store, [lead('1')]);
      const sent = { deliveredThrough: a, sent: [{ after: null, through: a }] };
      await consumers.recordDowntime(before);
      for (const id of ['now', 'later'])
        await consumers.record([polls('boss', id, { ...sent, lastPollAt: before })]);
      await consumers.recordStop(before + 60_000);
      await other.recordPause();
      const [b = 0] = await stamp(store, [lead('2')]);
      await consumers.recordDowntime(b + 1);
      const downtime = { unavailableSince: before, availableSince: b + 1, isUnrecorded: true };
      assert.deepEqual((await other.list(query()))[0]?.downtime, downtime);
      const [c = 0] = await stamp(store, [lead('3')]);
      const at = { lastPollAt: c + 60_000, writtenAt: c + 60_000 };
      await consumers.record([
        polls('boss', 'later', { ...at, confirmedThrough: c + 1 }),
        polls('boss', 'now', { ...at, confirmedThrough: b }),
      ]);
      const skipped = async () =>
        (await consumers.list(query())).map(({ tokenId, skippedSince }) => [tokenId, skippedSince]);
      const found = [
        ['later', c],
        ['now', null],
      ];
      assert.deepEqual(await skipped(), found);
      const last = { lastPollAt: c + 120_000, writtenAt: c + 120_000 };
      await consumers.record([polls('boss', 'now', { ...last, confirmedThrough: c + 1 })]);
      assert.deepEqual((await skipped())[1], ['now', c]);
    },
  ),

  checkConsumers(
    'consumers: a refused token that was issued here is listed for 24 hours after its last poll',
    async ({ store, consumers }) => {
      const REVOKED_KEPT_MS = 30 * 86_400_000;
      const DAY_MS = 86_400_000;
      const issued = { name: null, issuedAt: START, expiresAt: START + 9 * DAY_MS, scopes: ['leads:read'] };
      const ids = ['revoked', 'expired', 'key-removed'];
      await store.recordTokens(ids.map((id) => ({ id, userId: 'boss', ...issued })));
      await store.revokeToken('revoked');
      const refused = { lastStatus: 401, mustBeIssued: true };
      await consumers.record([
        ...ids.map((id) =>
          polls('boss', id, { ...refused, tokenExpiresAt: id === 'expired' ? START : null }),
        ),
        polls('boss', 'made-up', refused),
        polls('seller', 'revoked', refused),
      ]);
      const ends = async (now: number) =>
        (await consumers.list(query({ now }))).map(({ userId, tokenId, tokenEnded }) => [
          `${userId} ${tokenId}`,
          tokenEnded,
        ]);
      const listed = [
        ['boss expired', 'expired'],
        ['boss key-removed', 'key-removed'],
        ['boss revoked', 'revoked'],
      ];
      assert.deepEqual(await ends(START + DAY_MS - 1), listed);
      assert.equal(await consumers.prune(START + DAY_MS - 1, 0), 0);
      const working = [
        ['boss expired', null],
        ['boss key-removed', null],
      ];
      assert.deepEqual(await ends(START + DAY_MS), working);
      const revoked = await consumers.list({ ...query({ now: START + DAY_MS }), areRevoked: true });
      assert.deepEqual(keysOf(revoked), [['boss', 'revoked']]);
      assert.equal(await consumers.prune(START + REVOKED_KEPT_MS - 1, 0), 0);
      assert.equal(await consumers.prune(START + REVOKED_KEPT_MS, 0), 1);
    },
  ),

  checkConsumers(
    'consumers: a downtime begins with the last poll or stop, and short ones do not count',
    async ({ consumers, openAnother }) => {
      const other = (await openAnother()).consumers;
      const downtime = async () => (await other.list(query()))[0]?.downtime;
      const minute = (count: number) => START + count * 60_000;
      await consumers.recordDowntime(START);
      await consumers.record([polls('boss', 'a', { lastPollAt: minute(1) })]);
      assert.equal(await downtime(), null);
      await consumers.recordDowntime(minute(3));
      const started = { unavailableSince: minute(1), availableSince: minute(3) };
      assert.deepEqual(await downtime(), started);
      await consumers.recordStop(minute(5));
      assert.deepEqual(await downtime(), started);
      await consumers.recordDowntime(minute(7));
      assert.deepEqual(await downtime(), { unavailableSince: minute(5), availableSince: minute(7) });
      await consumers.recordDowntime(minute(9), minute(8));
      assert.deepEqual(await downtime(), { unavailableSince: minute(8), availableSince: minute(9) });
      await consumers.record([polls('boss', 'a', { lastPollAt: minute(11) })]);
      await consumers.recordDowntime(minute(11) + 9_999);
      assert.equal(await downtime(), null);
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
    'consumers: revoked tokens, removed users and expired tokens that another one replaced do not count, and are pruned',
    async ({ store, consumers }) => {
      const issued = { name: null, issuedAt: START, expiresAt: START, scopes: ['leads:read'] };
      await store.recordTokens([
        { id: 'issued', userId: 'boss', ...issued },
        { id: 'issued-later', userId: 'rival', ...issued },
      ]);
      const expired = { tokenExpiresAt: START };
      await consumers.record([
        polls('boss', 'issued', expired),
        polls('boss', 'revoked'),
        polls('boss', 'expired', expired),
        polls('boss', 'valid', { tokenExpiresAt: START + 1, lastPollAt: START + 1 }),
        // The last ones of their user, but for one that was issued here.
        polls('rival', 'last', expired),
        polls('rival', 'issued-later', { lastPollAt: START + 1 }),
        polls('seller', null, expired),
        polls('seller', 'other', { lastPollAt: START + 1 }),
        polls('boss', 'old', { lastPollAt: START - 1000 }),
        polls('north-lead', 'removed'),
      ]);
      await store.revokeToken('revoked');
      await store.removeUser('north-lead');
      const listed = [
        ['boss', 'issued'],
        ['boss', 'old'],
        ['boss', 'valid'],
        ['rival', 'issued-later'],
        ['rival', 'last'],
        ['seller', null],
        ['seller', 'other'],
      ];
      const found = await consumers.list(query());
      assert.deepEqual(keysOf(found), listed);
      assert.deepEqual(
        found.filter(({ tokenIssuedAt }) => tokenIssuedAt !== null).map(({ tokenId }) => tokenId),
        ['issued', 'issued-later'],
      );
      assert.equal(await consumers.prune(START, START - 999), 3);
      const revoked = await consumers.list({ ...query(), areRevoked: true });
      assert.deepEqual(keysOf(revoked), [['boss', 'revoked']]);
      assert.deepEqual(
        keysOf(await consumers.list(query())),
        listed.filter(([, tokenId]) => tokenId !== 'old'),
      );
      assert.equal(await consumers.prune(START, START - 999), 0);
    },
  ),

  checkConsumers('consumers: one that is forgotten starts again', async ({ consumers }) => {
    await consumers.record([
      polls('boss', 'a', { confirmedThrough: START }),
      polls('boss', null),
      polls('seller', 'a'),
    ]);
    assert.equal(await consumers.forget({ userId: 'boss', tokenId: 'a' }), true);
    assert.equal(await consumers.forget({ userId: 'boss', tokenId: 'a' }), false);
    assert.deepEqual(keysOf(await consumers.list(query())), [
      ['boss', null],
      ['seller', 'a'],
    ]);
    assert.equal(await consumers.forget({ userId: 'boss', tokenId: null }), true);
    await consumers.record([polls('boss', 'a', { lastPollAt: START + 1 })]);
    const [found] = await consumers.list(query());
    assert.equal(found?.firstPollAt, START + 1);
    assert.equal(found?.confirmedThrough, null);
  }),

  checkConsumers(
    'consumers: what one had received is kept for 30 days when it is forgotten, or its user is removed',
    async ({ store, consumers, clock, openAnother }) => {
      const scope = { level: 'BRANCH', companyId: 'acme', branchId: 'north' } as const;
      await stamp(store, [lead('first', { branchId: 'north' })]);
      const sent = { deliveredThrough: START - 3, sent: [{ after: START - 9, through: START - 3 }], scope };
      await consumers.record([
        polls('boss', 'a', { confirmedThrough: START - 7 }),
        polls('boss', null, { confirmedThrough: START - 5 }),
        polls('boss', 'tried'),
        polls('north-lead', 'b', sent),
      ]);
      clock.now = START + 1;
      assert.equal(await consumers.forget({ userId: 'boss', tokenId: 'a' }), true);
      assert.equal(await consumers.forget({ userId: 'boss', tokenId: 'tried' }), true);
      clock.now = START + 2;
      assert.equal(await store.removeUser('north-lead'), true);
      const boss = {
        id: 'boss',
        companyId: 'acme',
        accessLevel: 'COMPANY',
        branchId: null,
        departmentId: null,
      };
      const expected = [
        {
          ...{
            userId: 'boss',
            tokenId: 'a',
            endedAt: START + 1,
            through: START - 7,
            gaps: [],
            missedLeads: [],
            scopes: null,
          },
          user: boss,
        },
        {
          ...{ userId: 'north-lead', tokenId: 'b', endedAt: START + 2, through: START - 3, gaps: [] },
          ...{ missedLeads: [], scopes: '["BRANCH","acme","north"]' },
          user: { ...boss, id: 'north-lead', accessLevel: 'BRANCH', branchId: 'north' },
        },
      ];
      const other = (await openAnother()).consumers;
      assert.deepEqual(await other.listEnded({ now: START, limit: 9 }), expected);
      const [first, second] = expected;
      assert.deepEqual(await other.listEnded({ now: START, limit: 1 }), [first]);
      assert.deepEqual(await other.listEnded({ now: START, limit: 9, after: first }), [second]);
      assert.deepEqual(await other.listEnded({ now: START, limit: 9, userId: 'north-lead' }), [second]);
      const later = START + 1 + 30 * 86_400_000;
      assert.deepEqual(await consumers.listEnded({ now: later, limit: 9 }), [second]);
      await consumers.prune(later, START);
      assert.deepEqual(await consumers.listEnded({ now: START, limit: 9 }), [second]);
    },
  ),

  checkConsumers(
    'consumers: history that was imported after the first poll counts as received if it was in a page, or a webhook has sent it',
    async ({ store, consumers, clock }) => {
      const scope = { level: 'COMPANY', companyId: 'acme' } as const;
      const old = { createdAt: START - 9000 };
      const [before = 0] = await stamp(store, [lead('before', old)], { historical: true });
      clock.now = START + 1000;
      await consumers.record([
        polls('boss', 'a', { lastPollAt: START + 1000, scope }),
        polls('boss', 'b', { lastPollAt: START + 1000, scope }),
      ]);
      const known = {
        ...{
          id: 'h',
          userId: 'boss',
          tokenId: 't',
          tokenExpiresAt: null,
          url: 'https://hooks.example.com/h',
        },
        ...({ send: 'lead', baseUrl: 'https://leads.example.com', since: undefined } as const),
      };
      const { hook: claimed } = { hook: undefined, ...(await store.hooks.subscribe(known, 9)) };
      assert(claimed);
      clock.now = START + 2000;
      const history = [lead('page', old), lead('other', old)];
      const [page = 0, other = 0] = await stamp(store, history, { historical: true });
      const [normal = 0] = await stamp(store, [lead('normal')]);
      const createdAt = [before, page, normal];
      await consumers.record([
        polls('boss', 'a', { lastPollAt: START + 2000, scope, sentPages: [{ scope, createdAt }] }),
      ]);
      await store.hooks.settle([
        { claimed, progress: claimed, accepted: { companyId: 'acme', createdAt: [before, other, normal] } },
      ]);
      const receivers = async (time: number) =>
        (await consumers.findReceivers('acme', time)).map(({ tokenId }) => tokenId);
      assert.deepEqual(await receivers(page), ['a']);
      assert.deepEqual(await receivers(other), ['h']);
      assert.deepEqual(await receivers(before), []);
      assert.deepEqual(await receivers(normal), []);
      const boss = { id: 'boss', companyId: 'acme' };
      const found = await consumers.findReceivedHistory(boss, 9);
      assert.deepEqual(
        [...found].sort((one, two) => one.createdAt - two.createdAt),
        [
          { userId: 'boss', tokenId: 'a', createdAt: page },
          { userId: 'boss', tokenId: 'h', createdAt: other },
        ],
      );
      assert.deepEqual(
        await consumers.findReceivedHistory(boss, 1),
        found.filter((one) => one.createdAt === other),
      );
      assert.deepEqual(await consumers.findReceivedHistory({ ...boss, id: 'seller' }, 9), []);
    },
  ),

  checkConsumers(
    'consumers: of one that is forgotten again and again, the last 50 times are kept',
    async ({ consumers, clock }) => {
      for (let number = 0; number < 52; number += 1) {
        clock.now = START + number;
        await consumers.record([polls('boss', 'a', { confirmedThrough: START + number })]);
        await consumers.forget({ userId: 'boss', tokenId: 'a' });
      }
      const ended = await consumers.listEnded({ now: START, limit: 99 });
      assert.deepEqual([ended.length, ended[0]?.endedAt], [50, START + 2]);
    },
  ),

  checkConsumers(
    'consumers: recording adds nothing to the change log',
    async ({ store: { changeTracking }, consumers }) => {
      const request = { companies: ['acme'], tokens: [] };
      const { seen } = await changeTracking.revalidate(request, undefined);
      await consumers.record([polls('boss', 'a', { deliveredThrough: START })]);
      await consumers.prune(START + 1, START + 1);
      const { changes } = await changeTracking.revalidate(request, seen);
      assert.deepEqual(changes, []);
    },
  ),
];
