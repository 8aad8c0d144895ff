import { expect, it, onTestFinished, vi } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { type Receiver, respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { Places } from '../../src/hooks/places.ts';
import { HookSender } from '../../src/hooks/sender.ts';
import type { HookStore } from '../../src/store/hooks.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';

const MAX_SOCKETS = 53;
/** A quarter of them is for idle ones. */
const MAX_IN_FLIGHT = 40;

/** A sender with few places, and a store whose leads it finds by examining all hooks. */
async function startSender(receivers: readonly Receiver[]) {
  const store = await (await makeTestDatabase()).openStore();
  await store.applyOrganisation(ORGANISATION);
  const { hooks } = store;
  if (!hooks) throw new Error('the store has no hooks');
  const sender = new HookSender({
    ...{ store: hooks, changes: undefined, hasConsumers: false },
    hosts: receivers.map(({ origin }) => origin),
    ...{ signingSecrets: [new Uint8Array(32)], publicUrl: undefined, version: '1', clock: Date.now },
    log: { warn: () => undefined, info: () => undefined },
    delivery: { timeoutMs: 600_000, maxSockets: MAX_SOCKETS },
  });
  onTestFinished(async () => {
    await sender.stop();
    await store.close();
  });
  const add = (...leads: readonly { companyId: string; branchId?: string }[]) =>
    store.writeLeads(leads.map((lead) => ({ ...lead, fields: {} })));
  return { hooks, sender, add };
}

async function addHooks(hooks: HookStore, userId: string, url: string, count: number): Promise<void> {
  const base = { userId, tokenId: null, tokenExpiresAt: null, baseUrl: '', since: 0 };
  for (let index = 0; index < count; index += 1)
    await hooks.subscribe({ ...base, id: `${userId}-${index}`, url: `${url}/${index}` }, count);
}

/** As after an attempt that has failed. */
async function failAll(hooks: HookStore): Promise<void> {
  const listed = await hooks.list({ now: Date.now(), limit: 1000 });
  const progress = { failures: 1, failingSince: 1, lastEventAt: 1, notBefore: 2, checkAt: 2 };
  await hooks.settle(listed.map(({ hook }) => ({ claimed: hook, progress: { ...hook, ...progress } })));
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
  const { hooks, sender, add } = await startSender([hanging, other]);
  await addHooks(hooks, 'boss', hanging.url, 2 * MAX_IN_FLIGHT);
  await addHooks(hooks, 'rival', other.url, 1);
  await add({ companyId: 'acme' }, { companyId: 'globex' });
  sender.start();
  await Promise.all([hanging.event(MAX_IN_FLIGHT / 2), other.event(1)]);
  expect(hanging.events).toHaveLength(MAX_IN_FLIGHT / 2);
  release();
  await hanging.event(2 * MAX_IN_FLIGHT);
  // Each place is free again: more events than there are places.
  await vi.waitFor(async () =>
    expect((await hooks.list({ now: 0, limit: 1000 })).some(({ isPending }) => isPending)).toBe(false),
  );
  await add({ companyId: 'acme' });
  await hanging.event(4 * MAX_IN_FLIGHT);
});

it('retries that hang take few places, and do not delay those of another company', async () => {
  const { receiver: hanging, release } = await startHanging();
  const other = await startReceiver();
  const { hooks, sender, add } = await startSender([hanging, other]);
  await addHooks(hooks, 'boss', hanging.url, MAX_IN_FLIGHT);
  await addHooks(hooks, 'rival', other.url, 1);
  await failAll(hooks);
  await add({ companyId: 'acme' }, { companyId: 'globex' });
  sender.start();
  // A tenth of what is free: 4 of 40, then 3 of 37.
  await Promise.all([hanging.event(3), other.event(1)]);
  // A new hook of the same company is not a retry.
  await addHooks(hooks, 'north-lead', `${other.url}/new`, 1);
  await add({ companyId: 'acme', branchId: 'north' });
  sender.onSubscribed();
  await other.event(2);
  expect(hanging.events.length).toBeLessThanOrEqual(4);
  release();
  await hanging.event(MAX_IN_FLIGHT);
});

it('more hooks than one claim may have are claimed in a row', async () => {
  const receiver = await startReceiver();
  const { hooks, sender, add } = await startSender([receiver]);
  await addHooks(hooks, 'boss', receiver.url, 3 * MAX_IN_FLIGHT);
  await add({ companyId: 'acme' });
  const claim = vi.spyOn(hooks, 'claim');
  sender.start();
  await receiver.event(3 * MAX_IN_FLIGHT);
  expect(claim.mock.calls.length).toBeGreaterThan(3);
});

it('a claim that has failed is made again for the same companies', async () => {
  const receiver = await startReceiver();
  const { hooks, sender, add } = await startSender([receiver]);
  await addHooks(hooks, 'boss', receiver.url, 1);
  await add({ companyId: 'acme' });
  const claim = vi.spyOn(hooks, 'claim');
  claim.mockRejectedValueOnce(new StoreUnavailableError('the database is stopped'));
  sender.start();
  await receiver.event(1);
  expect(claim.mock.calls.slice(0, 2).map(([{ companies }]) => companies)).toEqual(['all', 'all']);
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
