import assert from 'node:assert/strict';
import type { LeadRemoval } from 'leadtap';
import { type ConformanceCheck, check, type Setup } from './check.ts';
import { ACME, ALL_OF_ACME, apply, find, GLOBEX, idsOf, lead, poll, stamp, write } from './sample.ts';

interface WithRemoval extends Setup {
  readonly removal: LeadRemoval;
}

const checkRemoval = (name: string, body: (setup: WithRemoval) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    const { removal } = setup.store;
    await apply(setup.store, ACME, GLOBEX);
    await body({ ...setup, removal });
  });

/** All leads that match, part by part. */
async function scanAll(removal: LeadRemoval, emails: string[], phones: string[], companyId?: string) {
  const found = [];
  for (let last: Parameters<LeadRemoval['scan']>[1]; ; ) {
    const result = await removal.scan({ emails, phones }, last, companyId);
    found.push(...result.leads);
    last = result.last;
    if (!last) return found;
  }
}

const erase = async (removal: LeadRemoval, ids: readonly string[], companyId?: string) =>
  removal.erase(await removal.findByIds(ids, companyId));

export const erasedLeadChecks = [
  checkRemoval('erased leads: found by id, sorted by company and createdAt', async ({ store, removal }) => {
    const fields = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com', phone2: '0612' };
    const contact = { email: 'ada@example.com', phone1: null, phone2: '0612' };
    const [first = 0] = await stamp(store, [lead('b', { fields })]);
    const [second = 0] = await stamp(store, [lead('a'), lead('a', { companyId: 'globex' })]);
    const acme = [
      { companyId: 'acme', createdAt: first, id: 'b', name: 'Ada Lovelace', ...contact },
      { companyId: 'acme', createdAt: second, id: 'a', name: null, email: null, phone1: null, phone2: null },
    ];
    const found = await removal.findByIds(['a', 'b', 'unknown', 'a']);
    assert.deepEqual(found.slice(0, 2), acme);
    assert.deepEqual([found.length, found[2]?.companyId], [3, 'globex']);
    assert.deepEqual(await removal.findByIds(['a', 'b'], 'acme'), acme);
    assert.deepEqual(await removal.findByIds(['a'], 'unknown'), []);
  }),

  checkRemoval(
    'erased leads: found by e-mail address without regard to case, and by the digits of both phone numbers',
    async ({ store, removal }) => {
      await stamp(store, [
        lead('email', { fields: { email: 'Ada@Example.COM' } }),
        lead('letters', { fields: { email: 'Zoë@example.com' } }),
        lead('phone1', { fields: { phone1: '+33 (6) 12.34' } }),
        lead('phone2', { fields: { phone2: '0033 6-12-34', fullName: 'Ada' } }),
        lead('longer', { fields: { phone1: '+33 6 12 34 5', email: 'xada@example.com' } }),
        lead('other', { companyId: 'globex', fields: { email: 'ada@example.com' } }),
      ]);
      const ids = async (...query: [string[], string[], string?]) =>
        (await scanAll(removal, ...query)).map(({ id }) => id);
      assert.deepEqual(await ids(['aDa@example.com'], []), ['email', 'other']);
      assert.deepEqual(await ids(['aDa@example.com'], [], 'acme'), ['email']);
      assert.deepEqual(await ids(['ZOë@EXAMPLE.COM'], []), ['letters']);
      assert.deepEqual(await ids([], ['+336 12 34']), ['phone1', 'phone2']);
      assert.deepEqual(await ids(['ada@example.com'], ['0033612345'], 'acme'), ['email', 'longer']);
      assert.deepEqual(await ids(['unknown@example.com'], []), []);
    },
  ),

  checkRemoval(
    'erased leads: found whatever the white space around the e-mail address, and with (0) in the phone number',
    async ({ store, removal }) => {
      await stamp(store, [
        lead('line', { fields: { email: 'Ada@example.com\r\n' } }),
        lead('wide', { fields: { email: '\ufeff\u00a0ada@example.com\u3000\t' } }),
        lead('inside', { fields: { email: 'ad a@example.com' } }),
        lead('prefix', { fields: { phone1: '+33 (0)6 12 34' } }),
        lead('spaces', { fields: { phone2: '(0033)( 0 ) 61234' } }),
        lead('local', { fields: { phone1: '(0)6 12 34' } }),
        lead('zero', { fields: { phone1: '+33 06 12 34' } }),
      ]);
      const ids = async (...query: [string[], string[]]) =>
        (await scanAll(removal, ...query)).map(({ id }) => id);
      assert.deepEqual(await ids([' ada@example.com\n'], []), ['line', 'wide']);
      assert.deepEqual(await ids([], ['+3361234']), ['prefix', 'spaces']);
      assert.deepEqual(await ids([], ['+33 (0) 61234']), ['prefix', 'spaces']);
      assert.deepEqual(await ids([], ['061234']), ['local']);
    },
  ),

  checkRemoval(
    'erased leads: every store stops returning them at once',
    async ({ store, removal, openAnother }) => {
      const another = await openAnother();
      await stamp(store, [lead('1'), lead('2'), lead('3')]);
      const known = await another.changeTracking.revalidate({ companies: ['acme'], tokens: [] }, undefined);
      assert.equal(await erase(removal, ['2']), 1);
      assert.deepEqual(idsOf((await poll(another)).leads), ['1', '3']);
      const { changes } = await another.changeTracking.revalidate(
        { companies: ['acme'], tokens: [] },
        known.seen,
      );
      assert(
        changes === undefined || changes.some(({ kind, id }) => kind === 'company' && id === 'acme'),
        'the change log has the company',
      );
    },
  ),

  checkRemoval(
    'erased leads: are rejected until they are allowed, and then are new leads',
    async ({ store, clock, removal, reopen }) => {
      const [first = 0] = await stamp(store, [lead('1')]);
      const before = await find(store, '1');
      await erase(removal, ['1']);
      const rejected = { kind: 'rejected', problem: { field: 'id', reason: 'erased', value: '1' } } as const;
      const again = await reopen();
      const [one, two] = await write(again, [lead('1'), lead('2')]);
      assert.deepEqual([one, two?.kind], [rejected, 'added']);
      const historical = [lead('1', { createdAt: clock.now - 1000 })];
      assert.deepEqual(await write(again, historical, { historical: true }), [rejected]);
      const problems = await again.findPlacementProblems([lead('1'), lead('2')]);
      assert.deepEqual(problems, [[rejected.problem], []]);
      // In another company it is another lead.
      await stamp(again, [lead('1', { companyId: 'globex' })]);

      // A rejected write leaves it erased.
      const empty = [lead('1', { onlyUpdate: true })];
      const late = [lead('1', { createdAt: clock.now + 3_600_000 })];
      for (const [leads, historical] of [
        [empty, false],
        [late, true],
      ] as const) {
        const [result] = await write(again, leads, { allowErased: true, historical });
        assert.equal(result?.kind, 'rejected');
        assert.deepEqual(await write(again, [lead('1')]), [rejected]);
      }

      const allowed = await write(again, [lead('1'), lead('1')], { allowErased: true });
      assert.deepEqual(
        allowed.map(({ kind }) => kind),
        ['added', 'updated'],
      );
      const after = await find(again, '1');
      assert(after.createdAt > first, `${after.createdAt} is after ${first}`);
      assert.notEqual(after.automation_trigger_id, before.automation_trigger_id);
      assert.deepEqual(
        (await write(again, [lead('1')])).map(({ kind }) => kind),
        ['updated'],
      );
    },
  ),

  checkRemoval(
    'erased leads: their stamps are not given again, and count as the last stamp',
    async ({ store, clock, removal, reopen }) => {
      const [, newest = 0] = await stamp(store, [lead('1'), lead('2')]);
      clock.now -= 3_600_000;
      assert.equal(await erase(removal, ['1', '2']), 2);
      const reopened = await reopen();
      const empty = await reopened.readPage({ scope: ALL_OF_ACME, limit: 100 });
      assert.deepEqual([empty.leads, empty.lastStamp], [[], newest]);
      assert.deepEqual(await stamp(reopened, [lead('3')]), [newest + 1]);
    },
  ),

  checkRemoval(
    'pruned leads: the oldest of a company, and no newer ones',
    async ({ store, clock, removal }) => {
      const past = (id: string, ago: number, companyId = 'acme') =>
        lead(id, { companyId, createdAt: clock.now - ago });
      const history = [past('a', 5000), past('b', 4000), past('c', 3000), past('d', 5000, 'globex')];
      await stamp(store, history, { historical: true });
      const before = clock.now - 3000;
      assert.equal(await removal.countOlder('acme', before), 2);
      assert.equal(await removal.prune('acme', before, 1), 1);
      assert.deepEqual(idsOf((await poll(store)).leads), ['b', 'c']);
      assert.equal(await removal.prune('acme', before, 10), 1);
      assert.equal(await removal.prune('acme', before, 10), 0);
      assert.deepEqual(idsOf((await poll(store)).leads), ['c']);
      assert.equal(await removal.countOlder('globex', before), 1);
      // Unlike an erased id, a pruned one is accepted.
      assert.deepEqual(
        (await write(store, [lead('a')])).map(({ kind }) => kind),
        ['added'],
      );
    },
  ),

  checkRemoval('vacuum: keeps every lead', async ({ store, removal }) => {
    await stamp(store, [lead('1'), lead('2')]);
    await erase(removal, ['1']);
    const before = await poll(store);
    for (const full of [undefined, true, false]) await removal.vacuum(full);
    assert.deepEqual((await poll(store)).leads, before.leads);
  }),
];
