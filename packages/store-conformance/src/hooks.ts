import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { ClaimQuery, DueHook, Hook, HookProgress, HookQuery, HookStore, NewHook, Store } from 'leadtap';
import { renderLead } from '../../server/src/leads/render.ts';
import { StoreUnavailableError } from '../../server/src/sql/errors.ts';
import { type ConformanceCheck, check, type Setup, START } from './check.ts';
import { ACME, apply, bare, GLOBEX, lead, stamp, user } from './sample.ts';

interface WithHooks extends Setup {
  readonly hooks: HookStore;
  /** The hooks of another store on the same database. */
  openOther(): Promise<HookStore>;
  /** Claims at this time. */
  claim(hooks: HookStore, now?: number, rest?: Partial<ClaimQuery>): Promise<readonly DueHook[]>;
  claimIds(hooks: HookStore, now?: number, rest?: Partial<ClaimQuery>): Promise<string[]>;
}

/** The id of the lead that a claimed hook is to send. */
async function readId(hooks: HookStore, claimed: Hook, after: number): Promise<string | undefined> {
  const found = await hooks.readLead(claimed, after);
  return found && JSON.parse(renderLead(found)).id;
}

const checkHooks = (name: string, body: (setup: WithHooks) => Promise<void>): ConformanceCheck =>
  check(name, async (setup) => {
    const { hooks } = setup.store;
    await apply(setup.store, ACME, GLOBEX);
    const openOther = async () => (await setup.openAnother()).hooks;
    const claim: WithHooks['claim'] = (of, now = START, rest = {}) => {
      setup.clock.now = now;
      return of.claim({ claimMs: CLAIM_MS, companies: 'all', limit: 100, ...rest });
    };
    const claimIds: WithHooks['claimIds'] = async (...values) => idsOf(await claim(...values));
    await body({ ...setup, hooks, openOther, claim, claimIds });
  });

const MAX = 20;
const CLAIM_MS = 15_000;

const newHook = (id: string, rest: Partial<NewHook> = {}): NewHook => ({
  ...{
    id,
    userId: 'boss',
    tokenId: 'token',
    tokenExpiresAt: null,
    keyId: null,
    name: null,
    url: `https://hooks.example.com/${id}`,
  },
  send: 'event',
  ...{ baseUrl: 'https://leads.example.com', since: undefined },
  ...rest,
});

async function subscribe(hooks: HookStore, id: string, rest: Partial<NewHook> = {}): Promise<Hook> {
  const outcome = await hooks.subscribe(newHook(id, rest), MAX);
  assert(outcome.kind === 'created', `created, not ${outcome.kind}`);
  return outcome.hook;
}

/** As a client after a 503: on a busy machine, 25 subscriptions at once may wait for the lock for longer than it allows. */
async function subscribeOrRetry(
  hooks: HookStore,
  hook: NewHook,
): Promise<Awaited<ReturnType<HookStore['subscribe']>>> {
  try {
    return await hooks.subscribe(hook, MAX);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return subscribeOrRetry(hooks, hook);
  }
}

const idsOf = (due: readonly { readonly hook: Hook }[]): string[] => due.map(({ hook }) => hook.id).sort();

/** Stores the progress of a hook that is not claimed. */
async function change(hooks: HookStore, id: string, changes: Partial<HookProgress>): Promise<void> {
  const claimed = await hooks.find(id);
  assert(claimed);
  await hooks.settle([{ claimed, progress: { ...claimed, ...changes } }]);
}

const accepted = ({ hook, through }: DueHook, changes: Partial<HookProgress> = {}) => ({
  claimed: hook,
  progress: { ...hook, announcedSince: hook.announcedThrough, announcedThrough: through, ...changes },
});

/** The token asks for what came after this time, and gets nothing. */
const poll = (store: Store, tokenId: string, since: number) =>
  store.connections.record([
    {
      ...{ userId: 'boss', kind: 'poll', keyId: tokenId, source: 'token', tokenExpiresAt: null },
      ...{ isKnownOnly: false, sends: [], pushes: [] },
      polls: [
        {
          ...{ firstAt: START, lastAt: START, times: 1, since, limit: 100, status: 200, code: null },
          durationMs: 1,
          page: { createdAt: [], oldest: null, newest: null, isFull: false, link: since, isSent: true },
        },
      ],
    },
  ]);

const list = (hooks: HookStore, query: Partial<HookQuery> = {}) =>
  hooks.list({ now: START, limit: 100, ...query });

export const hookChecks = [
  checkHooks(
    'hooks: a subscription is stored as it was given, with the time of the database',
    async ({ hooks, openOther }) => {
      const given = newHook('a', {
        name: 'Sales',
        tokenId: null,
        tokenExpiresAt: START + 9,
        since: START - 7,
      });
      const { since: _, ...rest } = given;
      const stored = { ...rest, connectionId: null, createdAt: START };
      const progress: HookProgress = {
        ...{
          announcedThrough: START - 7,
          announcedSince: START - 7,
          lastEventAt: null,
          lastStatus: null,
        },
        ...{ failures: 0, failingSince: null, disabledAt: null },
        ...{ notBefore: START, checkAt: START, remindAt: null },
      };
      assert.deepEqual(await hooks.subscribe(given, MAX), {
        kind: 'created',
        hook: { ...stored, ...progress },
      });
      const other = await openOther();
      assert.deepEqual({ ...(await other.find('a')) }, { ...stored, ...progress });
      assert.equal(await other.find('b'), undefined);

      assert.deepEqual(await hooks.subscribe(newHook('x', { userId: 'unknown' }), MAX), {
        kind: 'no-such-user',
      });
    },
  ),

  checkHooks('hooks: a name is kept, and changes alone', async ({ hooks, openOther }) => {
    assert.equal((await subscribe(hooks, 'a')).name, null);
    const again = (rest: Partial<NewHook> = {}) =>
      hooks.subscribe(newHook('b', { url: newHook('a').url, ...rest }), MAX);
    const named = await again({ name: 'Sales' });
    assert(named.kind === 'known' && named.hook.name === 'Sales');
    const kept = await again();
    assert(kept.kind === 'known' && kept.hook.name === 'Sales');
    assert.equal(await hooks.rename('a', 'Service'), true);
    const other = await openOther();
    assert.deepEqual({ ...(await other.find('a')) }, { ...kept.hook, name: 'Service' });
    // A claim that began before does not take the name back.
    await hooks.settle([{ claimed: kept.hook, progress: kept.hook }]);
    assert.equal((await other.find('a'))?.name, 'Service');
    assert.equal(await hooks.rename('unknown', 'Service'), false);
  }),

  checkHooks(
    'hooks: a subscription starts at the newest lead that the user may see',
    async ({ store, hooks, deleteLead }) => {
      const [hidden] = await stamp(store, [lead('0')]);
      const { announcedThrough } = await subscribe(hooks, 'f', { userId: 'seller' });
      // Its user may see it later, with a wider access level. It is not new then.
      assert.equal(announcedThrough, hidden, 'or at the last stamp of the company if there is none');
      const [north, sales, company] = await stamp(store, [
        lead('1', { branchId: 'north' }),
        lead('2', { departmentId: 'sales' }),
        lead('3'),
      ]);
      const [other] = await stamp(store, [lead('4', { branchId: 'north' })]);
      assert(north && sales && company && other);
      const position = async (id: string, userId: string) =>
        (await subscribe(hooks, id, { userId })).announcedThrough;
      assert.deepEqual(
        [await position('a', 'boss'), await position('b', 'north-lead'), await position('c', 'seller')],
        [other, other, sales],
      );
      assert.equal(await position('d', 'rival'), 0);
      await deleteLead('acme', '4');
      assert.equal(await position('e', 'boss'), company);
    },
  ),

  checkHooks(
    'hooks: a lead that is added while a user subscribes is announced, or before the position',
    async ({ store, hooks, claim, openOther }) => {
      const other = await openOther();
      const added = Array.from({ length: 10 }, (_, index) => stamp(store, [lead(`${index}`)]));
      const subscribed = await Promise.all(
        Array.from({ length: 10 }, (_, index) => subscribe(other, `hook-${index}`)),
      );
      const stamps = (await Promise.all(added)).flat();
      const newest = Math.max(...stamps);
      // No change tells it: each is examined at once.
      const due = await claim(hooks, START, { companies: [] });
      const late = subscribed.filter(({ announcedThrough }) => announcedThrough < newest);
      assert.deepEqual(idsOf(due), late.map(({ id }) => id).sort());
      assert(due.every(({ through }) => through === newest));
    },
  ),

  checkHooks(
    'hooks: the same token and URL again is the same hook, enabled, with its position',
    async ({ store, hooks, clock, claimIds }) => {
      await stamp(store, [lead('1')]);
      const url = `https://hooks.example.com/${'%5C\\'.repeat(400)}`;
      await subscribe(hooks, 'a', { url, since: START - 5 });
      const stopped = { failures: 9, failingSince: START, disabledAt: START, checkAt: null };
      await change(hooks, 'a', { ...stopped, lastEventAt: START, lastStatus: 500, notBefore: START + 50 });
      assert.deepEqual(await claimIds(hooks, START + 60), []);
      const later = { since: undefined, tokenExpiresAt: START + 99, baseUrl: 'https://b' };
      const outcome = await hooks.subscribe(newHook('b', { url, ...later }), 1);
      const { since: _, ...first } = newHook('a', { url });
      assert.deepEqual(outcome, {
        kind: 'known',
        hook: {
          ...{ ...first, tokenExpiresAt: START + 99, baseUrl: 'https://b', createdAt: START + 60 },
          announcedThrough: START - 5,
          ...{ announcedSince: START - 5, lastEventAt: START, lastStatus: 500 },
          ...{ failures: 0, failingSince: null, disabledAt: null },
          ...{ notBefore: START + 50, checkAt: START + 60, remindAt: null },
          connectionId: null,
        },
      });
      assert.deepEqual({ ...(await hooks.find('a')) }, outcome.kind === 'known' && outcome.hook);
      assert.deepEqual(await claimIds(hooks, START + 60, { companies: [] }), ['a']);
      // Another one, also if the clock was set back.
      clock.now = START;
      assert.equal((await hooks.subscribe(newHook('b', { url }), 1)).kind, 'known');
      assert.equal((await hooks.find('a'))?.createdAt, START + 61);
      // Another token, or another URL, is another hook.
      await subscribe(hooks, 'c', { url, tokenId: 'other' });
      await subscribe(hooks, 'd', { url, tokenId: null });
      await subscribe(hooks, 'e', { url: `${url}e` });
    },
  ),

  checkHooks(
    'hooks: a subscription that comes again ends neither a claim nor a backoff',
    async ({ store, hooks, clock, claim, claimIds }) => {
      await subscribe(hooks, 'a');
      await stamp(store, [lead('1')]);
      const [due] = await claim(hooks);
      assert(due);
      const again = newHook('b', { url: due.hook.url });
      clock.now = START + 1;
      assert.equal((await hooks.subscribe(again, MAX)).kind, 'known');
      assert.deepEqual(await claimIds(hooks, START + 1), []);
      const failed = { failures: 3, failingSince: START - 9, notBefore: START + 60, checkAt: START + 300 };
      await hooks.settle([{ claimed: due.hook, progress: { ...due.hook, ...failed } }]);
      assert.equal((await hooks.subscribe(again, MAX)).kind, 'known');
      assert.deepEqual(
        { ...(await hooks.find('a')) },
        { ...due.hook, ...failed, createdAt: START + 2, checkAt: START + 60 },
      );
      assert.deepEqual(await claimIds(hooks, START + 59), []);
      assert.deepEqual(await claimIds(hooks, START + 60), ['a']);
    },
  ),

  checkHooks(
    'hooks: a user has at most as many as allowed; those of ended tokens do not count',
    async ({ store, hooks, clock }) => {
      await subscribe(hooks, 'a', { tokenId: 'revoked' });
      await subscribe(hooks, 'b', { tokenId: 'expired', tokenExpiresAt: START + 5 });
      await subscribe(hooks, 'other', { userId: 'seller' });
      assert.deepEqual(await hooks.subscribe(newHook('c'), 2), { kind: 'too-many' });
      assert.equal((await hooks.subscribe(newHook('d', { userId: 'seller' }), 2)).kind, 'created');
      await store.revokeToken('revoked');
      assert.equal((await hooks.subscribe(newHook('c'), 2)).kind, 'created');
      assert.deepEqual(await hooks.subscribe(newHook('e'), 2), { kind: 'too-many' });
      clock.now = START + 5;
      assert.equal((await hooks.subscribe(newHook('e'), 2)).kind, 'created');
      // The clock may have been ahead.
      assert.equal((await hooks.find('b'))?.id, 'b');
    },
  ),

  checkHooks(
    'hooks: equal subscriptions at once are one hook, and different ones are at most as many as allowed',
    async ({ hooks, openOther }) => {
      const stores = [hooks, await openOther()];
      const all = (make: (index: number) => NewHook) =>
        Promise.all(
          Array.from({ length: 25 }, (_, index) => subscribeOrRetry(stores[index % 2] ?? hooks, make(index))),
        );
      const equal = await all((index) =>
        newHook(`equal-${index}`, { url: 'https://hooks.example.com/equal' }),
      );
      assert.equal(equal.filter((outcome) => outcome.kind === 'created').length, 1);
      assert.equal(equal.filter((outcome) => outcome.kind === 'known').length, 24);
      const different = await all((index) => newHook(`hook-${index}`));
      assert.equal(different.filter((outcome) => outcome.kind === 'created').length, MAX - 1);
      assert.equal(different.filter((outcome) => outcome.kind === 'too-many').length, 25 - (MAX - 1));
      assert.equal((await list(hooks)).length, MAX);
    },
  ),

  checkHooks(
    'hooks: equal subscriptions with tokens of their own are one hook, with the first token',
    async ({ hooks, clock }) => {
      const url = 'https://hooks.example.com/own';
      const own = (id: string, rest: Partial<NewHook> = {}): NewHook => {
        const tokenId = createHash('sha256').update(id).digest('hex').slice(0, 32);
        return newHook(id, { url, send: 'lead', tokenId, tokenExpiresAt: START + 9, ...rest });
      };
      const outcomes = await Promise.all(['a', 'b'].map((id) => hooks.subscribe(own(id), MAX)));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['created', 'known']);
      const [first, ...others] = await list(hooks);
      assert(first && others.length === 0);
      const again = await hooks.subscribe(own('c', { tokenExpiresAt: START + 99 }), MAX);
      assert(again.kind === 'known');
      assert.deepEqual([again.hook.id, again.hook.tokenExpiresAt], [first.hook.id, START + 9]);
      for (const rest of [{ url: `${url}d` }, { send: 'event' as const }, { userId: 'seller' }])
        assert.equal((await hooks.subscribe(own(`other-${Object.keys(rest)}`, rest), MAX)).kind, 'created');
      // Another token, and one that has expired.
      await subscribe(hooks, 'e', { url, send: 'lead' });
      clock.now = START + 9;
      assert.equal((await hooks.subscribe(own('f', { tokenExpiresAt: START + 99 }), MAX)).kind, 'created');
    },
  ),

  checkHooks('hooks: an event is due for leads that the user may see', async ({ store, hooks, claim }) => {
    for (const userId of ['boss', 'north-lead', 'seller', 'rival'])
      await subscribe(hooks, userId, { userId });
    assert.deepEqual(await claim(hooks), []);
    let now = START;
    /** The positions of the hooks for which an event is due. All are accepted. */
    const announce = async (rest?: Parameters<typeof lead>[1]) => {
      now += 1000;
      const [newest = 0] = rest ? await stamp(store, [lead(`${now}`, rest)]) : [];
      const due = await claim(hooks, now);
      assert(due.every(({ through }) => through === newest));
      assert(due.every(({ hook, companyId }) => companyId === (hook.id === 'rival' ? 'globex' : 'acme')));
      await hooks.settle(due.map((one) => accepted(one, { notBefore: now, checkAt: null })));
      return idsOf(due);
    };
    assert.deepEqual(await announce({}), ['boss']);
    assert.deepEqual(await announce({ branchId: 'south' }), ['boss']);
    assert.deepEqual(await announce({ branchId: 'north' }), ['boss', 'north-lead']);
    assert.deepEqual(await announce({ departmentId: 'service' }), ['boss', 'north-lead']);
    assert.deepEqual(await announce({ departmentId: 'sales' }), ['boss', 'north-lead', 'seller']);
    assert.deepEqual(await announce({ companyId: 'globex', departmentId: 'sales' }), ['rival']);
    assert.deepEqual(await announce(), []);
  }),

  checkHooks(
    'hooks: a claim covers all leads so far; the position moves when it is settled',
    async ({ store, hooks, claim }) => {
      const [before] = await stamp(store, [lead('0')]);
      await subscribe(hooks, 'a');
      const [, last] = await stamp(store, [lead('1'), lead('2')]);
      const [due] = await claim(hooks);
      assert(due);
      const { hook, through } = due;
      assert.deepEqual([hook.announcedThrough, through], [before, last]);
      assert.deepEqual([hook.notBefore, hook.checkAt], [START + CLAIM_MS, START + CLAIM_MS]);
      assert.deepEqual({ ...(await hooks.find('a')) }, { ...hook, lastEventAt: START });
      const changes = {
        ...{
          lastEventAt: START + 3,
          lastStatus: 204,
          failures: 1,
          failingSince: START + 1,
          disabledAt: START + 2,
        },
        ...{ notBefore: START + 1000, checkAt: START + 1001, remindAt: START + 120_000 },
      };
      await hooks.settle([accepted(due, changes)]);
      assert.deepEqual(
        { ...(await hooks.find('a')) },
        { ...hook, ...changes, announcedSince: before, announcedThrough: last },
      );
    },
  ),

  checkHooks(
    'hooks: history before the position is not announced, history after it is',
    async ({ store, hooks, claim }) => {
      await stamp(store, [lead('1')]);
      await subscribe(hooks, 'a', { since: START - 5000 });
      const [due] = await claim(hooks);
      assert(due);
      await hooks.settle([accepted(due, { notBefore: START, checkAt: null })]);
      await stamp(store, [lead('old', { createdAt: START - 9000 })], { historical: true });
      assert.deepEqual(await claim(hooks), []);
      const [newest] = await stamp(store, [lead('new', { createdAt: due.through + 5 })], {
        historical: true,
      });
      assert.deepEqual(
        (await claim(hooks)).map(({ through }) => through),
        [newest],
      );
    },
  ),

  checkHooks('hooks: deleted leads are not announced', async ({ store, hooks, deleteLead, claim }) => {
    await subscribe(hooks, 'a');
    await stamp(store, [lead('1')]);
    await deleteLead('acme', '1');
    assert.deepEqual(await claim(hooks), []);
    const [first] = await stamp(store, [lead('2'), lead('3')]);
    await deleteLead('acme', '3');
    assert.deepEqual(
      (await claim(hooks)).map(({ through }) => through),
      [first],
    );
  }),

  checkHooks(
    'hooks: two stores never claim the same hook, and together they claim all',
    async ({ store, hooks, openOther, claim, claimIds }) => {
      const other = await openOther();
      const users = ['boss', 'north-lead', 'seller'];
      for (let index = 0; index < 30; index += 1)
        await subscribe(hooks, `hook-${index}`, { userId: users[index % 3] ?? '', since: START - 1 });
      await stamp(store, [lead('1', { departmentId: 'sales' })]);
      const claims = await Promise.all(
        [hooks, other, hooks, other, hooks, other].map((one) => claim(one, START, { limit: 7 })),
      );
      const ids = claims.flatMap(idsOf);
      assert.equal(new Set(ids).size, ids.length);
      assert(claims.every((claimed) => claimed.length <= 7));
      ids.push(...(await claimIds(other)));
      assert.equal(new Set(ids).size, 30);
      assert.equal(ids.length, 30);
      assert.deepEqual(await claim(hooks, START + CLAIM_MS - 1), []);
    },
  ),

  checkHooks(
    'hooks: the claim of a process that was killed ends, and then settles nothing',
    async ({ store, hooks, openOther, claim }) => {
      const other = await openOther();
      await subscribe(hooks, 'a');
      await stamp(store, [lead('1')]);
      const [first] = await claim(hooks);
      assert(first);
      const end = START + CLAIM_MS;
      // Without any change of the company, because its time has come.
      const [second] = await claim(other, end, { companies: [] });
      assert(second);
      assert.equal(second.through, first.through);
      await hooks.settle([accepted(first, { lastStatus: 500, notBefore: end + 1, checkAt: null })]);
      assert.deepEqual({ ...(await hooks.find('a')) }, { ...second.hook, lastEventAt: end });
      await other.settle([accepted(second, { lastStatus: 200, notBefore: end + 1, checkAt: null })]);
      await hooks.settle([accepted(second, { lastStatus: 500, notBefore: end + 2, checkAt: null })]);
      assert.equal((await hooks.find('a'))?.lastStatus, 200);
      assert.deepEqual(await claim(hooks, end + 1), []);
    },
  ),

  checkHooks(
    'hooks: many are settled at once, also those that were removed meanwhile',
    async ({ store, hooks, claim }) => {
      for (const id of ['a', 'b', 'c']) await subscribe(hooks, id);
      await stamp(store, [lead('1')]);
      const due = await claim(hooks);
      await hooks.remove('b');
      await hooks.settle([...due].reverse().map((one) => accepted(one, { lastStatus: 202 })));
      await hooks.settle([]);
      const statuses = (await list(hooks)).map(({ hook }) => [hook.id, hook.lastStatus]);
      assert.deepEqual(statuses, [
        ['a', 202],
        ['c', 202],
      ]);
    },
  ),

  checkHooks(
    'hooks: nothing is claimed before notBefore, nor if it is disabled',
    async ({ store, hooks, claim, claimIds }) => {
      await subscribe(hooks, 'later');
      await subscribe(hooks, 'disabled');
      await change(hooks, 'later', { notBefore: START + 5, checkAt: START + 5 });
      await change(hooks, 'disabled', { disabledAt: START });
      await stamp(store, [lead('1')]);
      assert.deepEqual(await claim(hooks, START + 4), []);
      assert.equal((await hooks.find('later'))?.checkAt, START + 5);
      assert.deepEqual(await claimIds(hooks, START + 5, { companies: [] }), ['later']);
    },
  ),

  checkHooks(
    'hooks: times of a clock that was ahead delay nothing',
    async ({ store, hooks, clock, claim, claimIds }) => {
      const minute = 60_000;
      const day = 1440 * minute;
      clock.now = START + 40 * day;
      await subscribe(hooks, 'new', { since: 0 });
      for (const id of ['near', 'claimed', 'failing', 'waiting', 'slow'])
        await subscribe(hooks, id, { since: 0 });
      const near = START + minute;
      await change(hooks, 'near', { lastEventAt: near, notBefore: near, checkAt: near });
      const failed = { failures: 1, failingSince: START };
      const ahead = { lastEventAt: START + day, notBefore: START + day + 5, checkAt: START + day + 5 };
      await change(hooks, 'failing', { ...failed, ...ahead });
      await change(hooks, 'waiting', ahead);
      // As long as a receiver may ask for.
      await change(hooks, 'slow', {
        ...failed,
        lastEventAt: START,
        notBefore: START + day,
        checkAt: START + day,
      });
      await stamp(store, [lead('1')]);
      await claim(hooks, START + 3 * day, {
        except: { hooks: ['new', 'near', 'failing', 'waiting', 'slow'], companies: [], retriesOf: [] },
      });
      assert.deepEqual(await claimIds(hooks), ['claimed', 'failing', 'new', 'waiting']);
      assert.deepEqual(await claimIds(hooks), []);
      assert.deepEqual(await claimIds(hooks, START + day), [
        'claimed',
        'failing',
        'near',
        'new',
        'slow',
        'waiting',
      ]);
    },
  ),

  checkHooks(
    'hooks: a reminder of a clock that was ahead is due',
    async ({ store, hooks, claim, claimIds }) => {
      const later = START + 86_400_000;
      for (const id of ['a', 'b', 'c']) await subscribe(hooks, id);
      await stamp(store, [lead('1')]);
      const ahead = { lastEventAt: later, notBefore: later, checkAt: later, remindAt: later };
      // An event was sent since the clock was set back.
      const after = {
        lastEventAt: START,
        notBefore: START,
        checkAt: null,
        remindAt: START + 361 * 60_000 + 1,
      };
      const near = { ...after, remindAt: START + 361 * 60_000 };
      const [a, b, c] = await claim(hooks);
      assert(a && b && c);
      await hooks.settle([accepted(a, ahead), accepted(b, after), accepted(c, near)]);
      assert.deepEqual(await claimIds(hooks), [a.hook.id, b.hook.id].sort());
    },
  ),

  checkHooks(
    'hooks: one that fails is due when checkAt has come, or with a lead of its company',
    async ({ store, hooks, claimIds }) => {
      await subscribe(hooks, 'a');
      await stamp(store, [lead('1')]);
      const retry = { failures: 1, failingSince: START, lastEventAt: START + 1 };
      await change(hooks, 'a', { ...retry, notBefore: START + 10, checkAt: START + 30 });
      assert.deepEqual(await claimIds(hooks, START + 9, { companies: ['acme'] }), []);
      assert.deepEqual(await claimIds(hooks, START + 10, { companies: 'all' }), []);
      assert.deepEqual(await claimIds(hooks, START + 10, { companies: ['acme'] }), ['a']);
      await change(hooks, 'a', { ...retry, notBefore: START + 10, checkAt: START + 30 });
      assert.deepEqual(await claimIds(hooks, START + 30, { companies: [] }), ['a']);
      // It was examined while its plan did not allow polls.
      await change(hooks, 'a', { ...retry, notBefore: START + 10, checkAt: null });
      assert.deepEqual(await claimIds(hooks, START + 30, { companies: 'all' }), ['a']);
    },
  ),

  checkHooks(
    'hooks: one that fails is examined at notBefore if a lead came before',
    async ({ store, hooks, claim, claimIds }) => {
      const retry = { failures: 1, failingSince: START, lastEventAt: START + 1 };
      await subscribe(hooks, 'a');
      await subscribe(hooks, 'claimed');
      await stamp(store, [lead('1')]);
      await change(hooks, 'a', { ...retry, notBefore: START + 10, checkAt: START + 30 });
      await change(hooks, 'claimed', { ...retry, notBefore: START + 20, checkAt: START + 20 });
      const checkAt = async (id: string) => (await hooks.find(id))?.checkAt;
      // No lead came since the attempt.
      assert.deepEqual(await claim(hooks, START + 5, { companies: ['acme'] }), []);
      assert.equal(await checkAt('a'), START + 30);
      await stamp(store, [lead('2')]);
      assert.deepEqual(await claim(hooks, START + 5, { companies: ['globex'] }), []);
      assert.equal(await checkAt('a'), START + 30);
      const except = { hooks: [], companies: [], retriesOf: ['acme'] };
      assert.deepEqual(await claim(hooks, START + 5, { companies: ['acme'], except }), []);
      assert.deepEqual([await checkAt('a'), await checkAt('claimed')], [START + 10, START + 20]);
      assert.deepEqual(await claimIds(hooks, START + 10, { companies: [] }), ['a']);
    },
  ),

  checkHooks(
    'hooks: failures are forgotten when there is nothing to announce any more',
    async ({ store, hooks, deleteLead, claim }) => {
      const failed = { failures: 3, failingSince: START, lastEventAt: START, checkAt: START + 99 };
      const setUps: [id: string, userId: string, changes: Partial<HookProgress>][] = [
        ['deleted', 'seller', {}],
        ['disabled', 'boss', { checkAt: null, disabledAt: START }],
        ['moved', 'boss', {}],
        ['moved-before', 'boss', { checkAt: null }],
        ['pending', 'rival', {}],
        ['reminder', 'boss', { checkAt: START, remindAt: START + 99 }],
      ];
      for (const [id, userId, changes] of setUps) {
        await subscribe(hooks, id, { userId });
        await change(hooks, id, { ...failed, ...changes });
      }
      await stamp(store, [lead('1', { departmentId: 'sales' }), lead('2', { companyId: 'globex' })]);
      const failing = async () => {
        assert.deepEqual(await claim(hooks), []);
        const listed = (await list(hooks)).filter(({ hook }) => hook.failures + (hook.failingSince ?? 0) > 0);
        return idsOf(listed);
      };
      await store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'south' });
      assert.deepEqual(await failing(), ['deleted', 'disabled', 'pending', 'reminder']);
      await deleteLead('acme', '1');
      assert.deepEqual(await failing(), ['disabled', 'pending', 'reminder']);
    },
  ),

  checkHooks(
    'hooks: exceptions are not claimed, and stay as they are',
    async ({ store, hooks, claimIds }) => {
      for (const id of ['a', 'failing', 'b']) await subscribe(hooks, id);
      await subscribe(hooks, 'rival', { userId: 'rival' });
      await subscribe(hooks, 'rival-failing', { userId: 'rival' });
      for (const id of ['failing', 'rival-failing']) await change(hooks, id, { failures: 1 });
      await stamp(store, [lead('1'), lead('2', { companyId: 'globex' })]);
      const before = (await list(hooks)).map(({ hook }) => hook);
      const except = { hooks: ['a'], companies: ['globex', 'unknown'], retriesOf: ['acme'] };
      assert.deepEqual(await claimIds(hooks, START, { except }), ['b']);
      for (const hook of before)
        if (hook.id !== 'b') assert.deepEqual(await hooks.find(hook.id), { ...hook });
      assert.deepEqual(await claimIds(hooks, START, { limit: 1, except: { ...except, hooks: [] } }), ['a']);
      assert.deepEqual(await claimIds(hooks), ['failing', 'rival', 'rival-failing']);
    },
  ),

  checkHooks(
    'hooks: the given companies are examined, and those whose checkAt has come',
    async ({ store, hooks, claim, claimIds }) => {
      await subscribe(hooks, 'a');
      await subscribe(hooks, 'b', { userId: 'rival' });
      // Nothing is due: only new leads make an event due.
      assert.deepEqual(await claim(hooks, START, { companies: [] }), []);
      assert.deepEqual([(await hooks.find('a'))?.checkAt, (await hooks.find('b'))?.checkAt], [null, null]);
      await stamp(store, [lead('1'), lead('2', { companyId: 'globex' })]);
      const at = (companies: readonly string[]) => claimIds(hooks, START, { companies });
      assert.deepEqual(await at([]), []);
      assert.deepEqual(await at(['unknown']), []);
      assert.deepEqual(await at(['globex', 'unknown']), ['b']);
      assert.deepEqual(await at(['acme', 'globex']), ['a']);
    },
  ),

  checkHooks(
    'hooks: with a limit, those that are due come first, the longest waiting of them before others',
    async ({ store, hooks, claimIds }) => {
      for (const id of ['a', 'b', 'c', 'd']) await subscribe(hooks, id);
      await subscribe(hooks, 'idle', { userId: 'rival' });
      for (const [id, notBefore] of [
        ['a', START - 1],
        ['b', START - 3],
        ['c', START - 2],
        ['idle', START - 9],
      ] as const)
        await change(hooks, id, { notBefore, checkAt: START });
      await stamp(store, [lead('1')]);
      assert.deepEqual(await claimIds(hooks, START, { limit: 2 }), ['b', 'c']);
      assert.deepEqual(await claimIds(hooks, START, { limit: 1 }), ['a']);
      assert.deepEqual(await claimIds(hooks, START, { limit: 2 }), ['d']);
    },
  ),

  checkHooks(
    'hooks: the last event is repeated at remindAt, unless its token has polled past it',
    async ({ store, hooks, claim }) => {
      const remindAt = START + 600_000;
      for (const id of ['a', 'b', 'c']) await subscribe(hooks, id, { tokenId: `token-${id}` });
      const [before = 0, newest = 0] = await stamp(store, [lead('1'), lead('2')]);
      const due = await claim(hooks);
      await hooks.settle(due.map((one) => accepted(one, { notBefore: START, checkAt: START + 1, remindAt })));
      // Nothing is due then, and each is examined again at its remindAt.
      assert.deepEqual(await claim(hooks, START + 1, { companies: [] }), []);
      assert.equal((await hooks.find('a'))?.checkAt, remindAt);
      for (const [tokenId, position] of [
        ['token-a', before],
        ['token-b', newest],
      ] as const)
        await poll(store, tokenId, position);
      assert.deepEqual(await claim(hooks, remindAt - 1), []);
      const repeated = await claim(hooks, remindAt, { companies: [] });
      assert.deepEqual(idsOf(repeated), ['a', 'c']);
      assert(repeated.every(({ hook, through }) => through === newest && hook.announcedThrough === newest));
      assert.deepEqual(repeated.map(({ hook, waitingSince }) => [hook.id, waitingSince]).sort(), [
        ['a', newest],
        ['c', before],
      ]);
      const found = await hooks.find('b');
      assert.deepEqual([found?.checkAt, found?.remindAt], [null, null]);
      await hooks.settle(
        repeated.map((one) => accepted(one, { notBefore: remindAt, checkAt: null, remindAt: null })),
      );
      assert.deepEqual(await claim(hooks, remindAt), []);
    },
  ),

  checkHooks(
    'hooks: are paused while the plan does not allow polls, and follow the access level',
    async ({ store, hooks, claim, claimIds }) => {
      await subscribe(hooks, 'a');
      await store.updateUser('boss', { plan: 'BASIC' });
      const [, newest] = await stamp(store, [lead('1', { branchId: 'north' }), lead('2')]);
      assert.deepEqual(await claim(hooks), []);
      await store.updateUser('boss', { plan: 'PROFESSIONAL' });
      const [due] = await claim(hooks);
      assert(due);
      assert.equal(due.through, newest);
      await store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'south' });
      assert.deepEqual(await claim(hooks, START + CLAIM_MS), []);
      await store.updateUser('boss', { branchId: 'north' });
      assert.deepEqual(await claimIds(hooks, START + CLAIM_MS), ['a']);
    },
  ),

  checkHooks(
    'hooks: end with their token and their user: nothing is claimed, listed or kept',
    async ({ store, hooks, claimIds }) => {
      await subscribe(hooks, 'active', { tokenExpiresAt: START + 101 });
      await subscribe(hooks, 'revoked', { tokenId: 'revoked' });
      await subscribe(hooks, 'expired', { tokenId: 'expired', tokenExpiresAt: START + 100 });
      await subscribe(hooks, 'removed', { userId: 'seller' });
      await subscribe(hooks, 'moved', { userId: 'north-lead' });
      await stamp(store, [lead('1', { departmentId: 'sales' }), lead('2', { companyId: 'globex' })]);
      await store.revokeToken('revoked');
      await store.removeUser('seller');
      await store.removeUser('north-lead');
      await apply(store, bare('globex', { users: [user('north-lead')] }));
      const now = START + 100;
      assert.deepEqual(await claimIds(hooks, now), ['active']);
      assert.deepEqual(idsOf(await list(hooks, { now })), ['active']);
      // Without a time, because no clock decides about them.
      assert.equal(await hooks.prune(0), 3);
      assert.equal(await hooks.prune(now - 1), 0);
      assert.equal(await hooks.find('revoked'), undefined);
      // The clock may have been ahead.
      assert.deepEqual(idsOf(await list(hooks, { now: now - 1 })), ['active', 'expired']);
      assert.equal(await hooks.prune(now), 1);
      assert.equal((await hooks.find('active'))?.id, 'active');
    },
  ),

  checkHooks(
    'hooks: one that sends leads is listed after its token has expired, until another continues there',
    async ({ store, hooks, claimIds }) => {
      const expired = {
        url: 'https://hooks.example.com/leads',
        send: 'lead',
        tokenExpiresAt: START + 1,
      } as const;
      await subscribe(hooks, 'expired', { ...expired, since: 1 });
      await subscribe(hooks, 'revoked', { ...expired, tokenId: 'revoked', since: 1 });
      await store.revokeToken('revoked');
      const now = START + 1;
      const listed = async () => idsOf(await list(hooks, { now }));
      assert.deepEqual(await listed(), ['expired']);
      assert.deepEqual(await claimIds(hooks, now), []);
      const next = { ...expired, tokenExpiresAt: START + 2 };
      await subscribe(hooks, 'later', { ...next, tokenId: 'later', since: 2 });
      assert.deepEqual(await listed(), ['expired', 'later'], 'leads between them were not sent');
      await subscribe(hooks, 'next', { ...next, tokenId: 'next', since: 1 });
      assert.deepEqual(await listed(), ['later', 'next']);
      assert.deepEqual(idsOf(await list(hooks, { now: START + 2 })), ['later', 'next'], 'both have expired');
    },
  ),

  checkHooks(
    'hooks: are listed page by page, sorted by id, of all, one company or one user',
    async ({ store, hooks }) => {
      const issued = { issuedAt: START, expiresAt: START + 1, scopes: ['leads:read'] };
      await store.recordTokens([{ id: 'token', userId: 'boss', name: 'Zapier', ...issued }]);
      await subscribe(hooks, 'd');
      await subscribe(hooks, 'b', { userId: 'rival', tokenId: null });
      await subscribe(hooks, 'a', { userId: 'seller', tokenId: 'other' });
      const c = await subscribe(hooks, 'c');
      assert.deepEqual(
        (await list(hooks, { userId: 'boss', limit: 1 })).map((one) => ({ ...one })),
        [{ hook: c, companyId: 'acme', tokenName: 'Zapier', isPending: false, isKeyRemoved: false }],
      );
      for (const [part, expected] of [
        [{}, ['a', 'b', 'c', 'd']],
        [{ companyId: 'acme' }, ['a', 'c', 'd']],
        [{ userId: 'boss' }, ['c', 'd']],
        [{ userId: 'boss', companyId: 'globex' }, []],
        [{ companyId: 'unknown' }, []],
      ] as const) {
        const found: string[] = [];
        for (let after: string | undefined; ; after = found.at(-1)) {
          const page = await list(hooks, { ...part, after, limit: 2 });
          found.push(...page.map(({ hook }) => hook.id));
          if (page.length < 2) break;
        }
        assert.deepEqual(found, expected);
      }
      assert.deepEqual(
        (await list(hooks)).map(({ tokenName }) => tokenName),
        [null, null, 'Zapier', 'Zapier'],
      );
    },
  ),

  checkHooks(
    'hooks: a list says whether there are leads that were not announced',
    async ({ store, hooks, claim }) => {
      await stamp(store, [lead('1')]);
      await subscribe(hooks, 'boss');
      await subscribe(hooks, 'seller', { userId: 'seller' });
      await subscribe(hooks, 'rival', { userId: 'rival' });
      const pending = async () =>
        idsOf((await list(hooks)).filter(({ isPending }) => isPending).map(({ hook }) => ({ hook })));
      assert.deepEqual(await pending(), []);
      // The seller sees a department only.
      await stamp(store, [lead('2')]);
      assert.deepEqual(await pending(), ['boss']);
      await hooks.settle((await claim(hooks)).map((due) => accepted(due)));
      assert.deepEqual(await pending(), []);
    },
  ),

  checkHooks(
    'hooks: what a hook sends is part of its identity, and of each list; one that sends leads keeps its start',
    async ({ hooks }) => {
      const url = 'https://hooks.example.com/same';
      for (const send of ['event', 'lead'] as const) {
        const created = await subscribe(hooks, send, { url, send, since: START - 7 });
        assert.deepEqual([created.url, created.send], [url, send]);
        assert.equal(created.announcedSince, START - 7);
        const again = await hooks.subscribe(newHook('other', { url, send, since: START }), 1);
        assert(again.kind === 'known');
        assert.deepEqual([again.hook.id, again.hook.announcedThrough], [send, START - 7]);
        assert.equal((await hooks.find(send))?.send, send);
      }
      const listed = (await list(hooks)).map(({ hook }) => [hook.id, hook.url, hook.send]);
      assert.deepEqual(
        listed,
        ['event', 'lead'].map((send) => [send, url, send]),
      );
    },
  ),

  checkHooks(
    'hooks: the lead of a claim is the first one after a time that the user may see now',
    async ({ store, hooks, claim, clock }) => {
      const places = [{}, { branchId: 'north' }, { departmentId: 'sales' }, { branchId: 'south' }];
      const users = ['boss', 'north-lead', 'seller'];
      for (const userId of users) await subscribe(hooks, userId, { userId, send: 'lead', since: 0 });
      const times = await stamp(
        store,
        places.map((place, index) => lead(`${index}`, place)),
      );
      await stamp(store, [lead('rival', { companyId: 'globex' })]);
      const [first = 0, , third = 0, last = 0] = times;
      const due = await claim(hooks, START, { claimMs: 100 });
      const read = async (id: string, after = 0) => {
        const hook = due.find((one) => one.hook.id === id)?.hook;
        assert(hook);
        return readId(hooks, hook, after);
      };
      assert.deepEqual(await Promise.all(users.map((id) => read(id))), ['0', '1', '2']);
      assert.deepEqual(await Promise.all(users.map((id) => read(id, first))), ['1', '1', '2']);
      assert.deepEqual(await Promise.all(users.map((id) => read(id, third))), ['3', undefined, undefined]);
      assert.equal(await read('boss', last), undefined);
      const [one] = due;
      assert(one);
      const scope = { level: 'COMPANY', companyId: 'acme' } as const;
      const { leads } = await store.readPage({ scope, since: 0, limit: 1 });
      const found = await hooks.readLead(one.hook, 0);
      assert.deepEqual([found && renderLead(found)], leads.map(renderLead));

      await store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'south' });
      assert.equal(await read('boss'), '3');
      await store.updateUser('boss', { plan: 'BASIC' });
      assert.equal(await read('boss'), undefined);
      await store.removeUser('seller');
      assert.equal(await read('seller'), undefined);
      assert.equal(await read('north-lead'), '1');
      // Another instance has claimed it.
      clock.now = START + 100;
      assert.equal((await claim(hooks, START + 100)).length, 1);
      assert.equal(await read('north-lead'), undefined);
    },
  ),

  checkHooks('hooks: a position is stored while the claim goes on', async ({ store, hooks, claim }) => {
    const [first = 0] = await stamp(store, [lead('1'), lead('2')]);
    await subscribe(hooks, 'a', { send: 'lead', since: 0 });
    const [due] = await claim(hooks);
    assert(due);
    const { hook } = due;
    await hooks.settle([{ claimed: hook, progress: { ...hook, announcedThrough: first } }]);
    assert.equal((await hooks.find('a'))?.announcedThrough, first);
    assert.deepEqual(await claim(hooks), []);
    assert.equal(await readId(hooks, hook, first), '2');
    await hooks.settle([{ claimed: hook, progress: { ...hook, notBefore: START } }]);
    assert.equal((await hooks.find('a'))?.announcedThrough, 0);
    await hooks.settle([{ claimed: hook, progress: { ...hook, announcedThrough: first } }]);
    assert.equal((await hooks.find('a'))?.announcedThrough, 0, 'the claim had ended');
  }),

  checkHooks('hooks: no lead is read for a token that has ended', async ({ store, hooks, claim, clock }) => {
    await stamp(store, [lead('1')]);
    await subscribe(hooks, 'a', { tokenId: 'revoked', send: 'lead', since: 0 });
    await subscribe(hooks, 'b', { tokenId: 'expires', tokenExpiresAt: START + 9, send: 'lead', since: 0 });
    const due = await claim(hooks);
    const read = () => Promise.all(due.map(({ hook }) => readId(hooks, hook, 0)));
    assert.deepEqual(await read(), ['1', '1']);
    await store.revokeToken('revoked');
    clock.now = START + 9;
    assert.deepEqual(await read(), [undefined, undefined]);
  }),

  checkHooks(
    'hooks: those of tokens of other keys are not claimed and do not count',
    async ({ store, hooks, claimIds }) => {
      await stamp(store, [lead('1')]);
      for (const keyId of ['old', 'new', null])
        await subscribe(hooks, `${keyId}`, { keyId, tokenId: `${keyId}`, send: 'lead', since: 0 });
      const acceptedKeys = ['new'];
      const listed = (await list(hooks, { acceptedKeys })).map(({ isKeyRemoved }) => isKeyRemoved);
      assert.deepEqual(listed, [false, false, true]);
      assert.deepEqual(await hooks.subscribe(newHook('more'), 2, acceptedKeys), { kind: 'too-many' });
      assert.equal((await hooks.subscribe(newHook('more'), 3, acceptedKeys)).kind, 'created');
      assert.deepEqual(await claimIds(hooks, START, { acceptedKeys }), ['new', 'null']);
      const again = newHook('old', { keyId: 'new', tokenId: 'old', send: 'lead' });
      const outcome = await hooks.subscribe(again, MAX, acceptedKeys);
      assert.equal('hook' in outcome && outcome.hook.keyId, 'new', 'the token was signed again');
      assert.deepEqual(await claimIds(hooks, START, { acceptedKeys }), ['old']);
    },
  ),

  checkHooks('hooks: are removed', async ({ hooks }) => {
    assert.equal(await hooks.hasHooks(), false);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await subscribe(hooks, id);
    assert.equal(await hooks.hasHooks(), true);
    assert.equal(await hooks.remove('a'), true);
    assert.equal(await hooks.remove('a'), false);
    assert.deepEqual(idsOf(await list(hooks)), ['b', 'c', 'd', 'e', 'f']);
  }),

  checkHooks('hooks: are not removed if their token has subscribed again', async ({ hooks }) => {
    const { url, createdAt } = await subscribe(hooks, 'a');
    await hooks.subscribe(newHook('b', { url }), MAX);
    assert.equal(await hooks.remove('a', createdAt), false);
    assert.equal(await hooks.remove('a', createdAt + 1), true);
  }),

  checkHooks(
    'hooks: are not disabled if their token has subscribed again',
    async ({ store, hooks, claim }) => {
      await stamp(store, [lead('1')]);
      const { url } = await subscribe(hooks, 'a', { send: 'lead', since: 0 });
      const [due] = await claim(hooks);
      assert(due);
      const gone = { claimed: due.hook, progress: { ...due.hook, disabledAt: START, notBefore: START } };
      await hooks.subscribe(newHook('b', { url, send: 'lead' }), MAX);
      await hooks.settle([gone]);
      assert.equal((await hooks.find('a'))?.disabledAt, null);
      const [again] = await claim(hooks, START + CLAIM_MS);
      assert(again);
      await hooks.settle([{ claimed: again.hook, progress: { ...again.hook, disabledAt: START } }]);
      assert.equal((await hooks.find('a'))?.disabledAt, START);
    },
  ),

  checkHooks('hooks: no method adds to the change log', async ({ store, hooks, claim }) => {
    const { changeTracking } = store;
    const request = { companies: ['acme'], tokens: [] };
    await stamp(store, [lead('1')]);
    const { seen } = await changeTracking.revalidate(request, undefined);
    await subscribe(hooks, 'a', { since: 0 });
    const due = await claim(hooks);
    assert.equal(due.length, 1);
    await hooks.settle(due.map((one) => accepted(one)));
    await hooks.subscribe(newHook('a'), MAX);
    await hooks.prune(START);
    await hooks.remove('a');
    assert.deepEqual((await changeTracking.revalidate(request, seen)).changes, []);
  }),
];
