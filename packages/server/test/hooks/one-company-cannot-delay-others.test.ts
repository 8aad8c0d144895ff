import { expect, it, onTestFinished, vi } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { type Receiver, respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { Places } from '../../src/hooks/places.ts';
import { HookSender } from '../../src/hooks/sender.ts';
import type { HookStore } from '../../src/hooks/store.ts';
import type { ChangeListener } from '../../src/poll/store.ts';
import { StoreUnavailableError } from '../../src/store/errors.ts';

const MAX_SOCKETS = 53;
/** A quarter of them is for idle ones. */
const MAX_IN_FLIGHT = 40;

/** A sender with few places, which has examined all hooks at its start. */
async function startSender(receivers: readonly Receiver[], maxSockets = MAX_SOCKETS) {
  const store = await (await makeTestDatabase()).openStore();
  await store.applyOrganisation(ORGANISATION);
  const { hooks } = store;
  if (!hooks) throw new Error('the store has no hooks');
  let report: ChangeListener = () => undefined;
  const sender = new HookSender({
    ...{ store: hooks, hasConsumers: false },
    changes: {
      readChanges: async () => undefined,
      onChanges: (listener) => {
        report = listener;
      },
    },
    hosts: receivers.map(({ origin }) => origin),
    ...{ signingSecrets: [new Uint8Array(32)], publicUrl: undefined, version: '1' },
    log: { warn: () => undefined, info: () => undefined },
    delivery: { timeoutMs: 600_000, maxSockets },
  });
  onTestFinished(async () => {
    await sender.stop();
    await store.close();
  });
  const list = async () => (await hooks.list({ now: 0, limit: 1000 })).map(({ hook }) => hook);
  return {
    hooks,
    /** Until only new leads make an event due. */
    async start() {
      sender.start();
      await vi.waitFor(async () =>
        expect((await list()).filter(({ checkAt }) => checkAt !== null)).toEqual([]),
      );
    },
    list,
    sender,
    async add(...leads: readonly { companyId: string; branchId?: string }[]) {
      await store.writeLeads(leads.map((lead) => ({ ...lead, fields: {} })));
      report(leads.map(({ companyId: id }) => ({ kind: 'leads-appended', id })));
    },
  };
}

async function addHooks(hooks: HookStore, userId: string, url: string, count: number): Promise<void> {
  const base = { userId, tokenId: null, tokenExpiresAt: null, baseUrl: '', since: 0 };
  for (let index = 0; index < count; index += 1)
    await hooks.subscribe({ ...base, id: `${userId}-${index}`, url: `${url}/${index}` }, count);
}

/** Receivers that keep their responses until `release`. */
async function startHanging() {
  const receiver = await startReceiver();
  const held: (() => void)[] = [];
  receiver.respond = (response) => held.push(() => respondWith(200)(response));
  const release = () => {
    receiver.respond = respondWith(200);
    for (const answer of held) answer();
  };
  return { receiver, release };
}

it('events that hang take half of the places, and all are sent when others end', async () => {
  const { receiver: hanging, release } = await startHanging();
  const other = await startReceiver();
  const { hooks, start, add, list } = await startSender([hanging, other]);
  await addHooks(hooks, 'boss', hanging.url, 2 * MAX_IN_FLIGHT);
  await addHooks(hooks, 'rival', other.url, 1);
  await start();
  await add({ companyId: 'acme' }, { companyId: 'globex' });
  await Promise.all([hanging.event(MAX_IN_FLIGHT / 2), other.event(1)]);
  expect(hanging.events).toHaveLength(MAX_IN_FLIGHT / 2);
  const claim = vi.spyOn(hooks, 'claim');
  await vi.waitFor(() => expect(claim).toHaveBeenCalled());
  expect(claim.mock.lastCall?.[0].except).toMatchObject({ companies: ['acme'], retriesOf: ['acme'] });
  release();
  await hanging.event(2 * MAX_IN_FLIGHT);
  // Each place is free again: more events than there are places.
  await vi.waitFor(async () =>
    expect((await list()).every(({ lastStatus }) => lastStatus === 200)).toBe(true),
  );
  await add({ companyId: 'acme' });
  await hanging.event(4 * MAX_IN_FLIGHT);
});

it('retries that hang take few places, and do not delay those of another company', async () => {
  const { receiver: hanging, release } = await startHanging();
  const other = await startReceiver();
  const { hooks, start, add, list, sender } = await startSender([hanging, other]);
  await addHooks(hooks, 'boss', hanging.url, MAX_IN_FLIGHT / 2);
  await addHooks(hooks, 'rival', other.url, 1);
  await start();
  const failed = { failures: 1, failingSince: 1, lastEventAt: 1, notBefore: 2, checkAt: 2 };
  await hooks.settle((await list()).map((hook) => ({ claimed: hook, progress: { ...hook, ...failed } })));
  await add({ companyId: 'acme' }, { companyId: 'globex' });
  // A tenth of what is free: 4 of 40, then 3 of 37.
  await Promise.all([hanging.event(3), other.event(1)]);
  // A new hook of the same company is not a retry.
  await addHooks(hooks, 'north-lead', `${other.url}/new`, 1);
  await add({ companyId: 'acme', branchId: 'north' });
  sender.onSubscribed();
  await other.event(2);
  expect(hanging.events.length).toBeLessThanOrEqual(4);
  release();
  await hanging.event(MAX_IN_FLIGHT / 2);
});

it('more hooks than one claim may have are claimed at once', async () => {
  const receiver = await startReceiver();
  const { hooks, start, add } = await startSender([receiver], 4000);
  await addHooks(hooks, 'boss', receiver.url, 450);
  await start();
  await add({ companyId: 'acme' });
  await receiver.event(450);
});

it('a claim that has failed is made again for the same companies', async () => {
  const receiver = await startReceiver();
  const { hooks, start, add } = await startSender([receiver]);
  await addHooks(hooks, 'boss', receiver.url, 1);
  await start();
  const claim = vi.spyOn(hooks, 'claim');
  claim.mockImplementation(async ({ companies }) => {
    if (companies.length > 0) claim.mockRestore();
    throw new StoreUnavailableError('the database is stopped');
  });
  await add({ companyId: 'acme' });
  await receiver.event(1);
});

it('shares of places', () => {
  const places = new Places(10);
  const take = (id: string, count: number, isRetry = false) =>
    Array.from({ length: count }, () => places.take(id, isRetry)).filter(Boolean).length;
  expect(take('a', 9)).toBe(5);
  expect(take('b', 9)).toBe(3);
  expect(take('c', 9, true)).toBe(1);
  expect(places.full()).toEqual({ companies: ['a', 'b', 'c'], retriesOf: ['a', 'b', 'c'] });
  expect(places.free).toBe(1);
  expect([places.release('a'), places.free]).toEqual([true, 2]);
  expect(places.full()).toEqual({ companies: ['a', 'b'], retriesOf: ['a', 'b', 'c'] });
  for (const id of ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c']) places.release(id);
  expect([places.free, places.full()]).toEqual([10, { companies: [], retriesOf: [] }]);
});
