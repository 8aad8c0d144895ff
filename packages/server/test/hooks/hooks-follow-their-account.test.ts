import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { hooksRequest, readHook, startWith, storedHook, subscribe } from './support/hooks.ts';

const iso = (ms: number) => new Date(ms).toISOString();

it('a hook ends with its token: after a revocation no event is sent, and the hook is deleted', async () => {
  const [receiver, other] = [await startReceiver(), await startReceiver()];
  const service = await startWith(receiver, {
    env: { LEADTAP_HOOK_HOSTS: `${receiver.origin},${other.origin}` },
  });
  await subscribe(service, await service.token('boss', { tokenId: 'revoked' }), receiver.url);
  await subscribe(service, await service.token('boss'), other.url);
  await service.store.revokeToken('revoked');
  await service.add({});
  await other.event(1);
  expect(receiver.events).toEqual([]);
  expect(await service.store.hooks.prune(Date.now())).toBe(1);
});

it('a token that is revoked, and a hook that is deleted, while an event is in flight get no other', async () => {
  const [revoked, deleted, other] = [await startReceiver(), await startReceiver(), await startReceiver()];
  const service = await startWith(revoked, {
    env: { LEADTAP_HOOK_HOSTS: [revoked, deleted, other].map(({ origin }) => origin).join() },
  });
  await subscribe(service, await service.token('boss', { tokenId: 'gone' }), revoked.url);
  const token = await service.token('boss');
  const { id } = await subscribe(service, token, deleted.url);
  await subscribe(service, token, other.url);
  const answers: (() => void)[] = [];
  for (const receiver of [revoked, deleted])
    receiver.respond = (response) => answers.push(() => respondWith(200)(response));
  await service.add({});
  await Promise.all([revoked.event(1), deleted.event(1), other.event(1)]);
  await service.store.revokeToken('gone');
  expect((await hooksRequest(service, undefined, { path: `/${id}`, method: 'DELETE' })).status).toBe(204);
  for (const answer of answers) answer();
  await service.add({});
  await other.event(2);
  expect([revoked.events.length, deleted.events.length]).toEqual([1, 1]);
  expect(await service.store.hooks.find(id)).toBeUndefined();
});

it('a hook that is subscribed again after its deletion gets the leads since then', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const token = await service.token('boss');
  const first = await subscribe(service, token, receiver.url);
  await hooksRequest(service, token, { path: `/${first.id}`, method: 'DELETE' });
  const [missed = 0] = await service.add({});
  const second = await subscribe(service, token, receiver.url);
  expect([second.id === first.id, second.since]).toEqual([false, iso(missed)]);
  const [created = 0] = await service.add({});
  expect((await receiver.event(1)).event.data).toMatchObject({ hookId: second.id, through: iso(created) });
});

it('a hook pauses while the plan does not allow polls, and then announces what came meanwhile', async () => {
  const [receiver, other] = [await startReceiver(), await startReceiver()];
  const service = await startWith(receiver, {
    env: { LEADTAP_HOOK_HOSTS: `${receiver.origin},${other.origin}` },
  });
  await subscribe(service, await service.token('boss'), receiver.url);
  await subscribe(service, await service.token('north-lead'), other.url);
  await service.store.updateUser('boss', { plan: 'STARTER' });
  const [first = 0] = await service.add({ branchId: 'north' });
  await other.event(1);
  expect(receiver.events).toEqual([]);
  await service.store.updateUser('boss', { plan: 'PROFESSIONAL' });
  const [second = 0] = await service.add({ branchId: 'north' });
  const { event } = await receiver.event(1);
  expect([Date.parse(event.data.since) < first, event.data.through]).toEqual([true, iso(second)]);
});

it('an event whose leads still wait is sent again after ten minutes, an hour and six hours', async () => {
  const clock = manualClock();
  const [silent, polling] = [await startReceiver(), await startReceiver()];
  const service = await startWith(silent, {
    clock,
    env: { LEADTAP_HOOK_HOSTS: `${silent.origin},${polling.origin}` },
  });
  const token = await service.token('boss', { tokenId: 'silent', expiresInMs: 1e9 });
  const pollingToken = await service.token('boss', { tokenId: 'polling', expiresInMs: 1e9 });
  const { id } = await subscribe(service, token, silent.url);
  const other = await subscribe(service, pollingToken, polling.url);
  const stored = (hookId: string, expected: object) =>
    vi.waitFor(async () => expect(await storedHook(service, hookId)).toMatchObject(expected));
  const [first = 0] = await service.add({});
  await silent.event(1);
  await stored(id, { announcedThrough: first });
  clock.advance(2000);
  const [created = 0] = await service.add({});
  await Promise.all([silent.event(2), polling.event(2)]);
  const { href } = new URL(`${service.url}/automation/new-leads?since=2020-01-01`);
  await fetch(href, { headers: { authorization: `Bearer ${pollingToken}` } });
  await service.service.connections.flush();
  for (const hookId of [id, other.id]) await stored(hookId, { announcedThrough: created });
  for (const [count, minutes] of [10, 60, 360].entries()) {
    clock.advance(minutes * 60_000 + 1000);
    const { event } = await silent.event(3 + count);
    expect([Date.parse(event.data.since) < first, event.data.through]).toEqual([true, iso(created)]);
    await vi.waitFor(async () => {
      const { remindAt } = await storedHook(service, id);
      expect(remindAt === null ? minutes === 360 : remindAt > clock()).toBe(true);
    });
  }
  clock.advance(86_400_000);
  // The next lead is the next event of both: neither had another reminder.
  const [next = 0] = await service.add({});
  const events = await Promise.all([silent.event(6), polling.event(3)]);
  expect(events.map(({ event }) => event.data.through)).toEqual([iso(next), iso(next)]);
});

it('a hook is disabled after 3 days of failures, and enabled by the same subscription', async () => {
  const clock = manualClock();
  const receiver = await startReceiver();
  receiver.respond = respondWith(500);
  const service = await startWith(receiver, { clock });
  const token = await service.token('boss', { expiresInMs: 1e9 });
  const { id } = await subscribe(service, token, receiver.url);
  const [created = 0] = await service.add({});
  const waitForState = (state: string, failures: number) =>
    vi.waitFor(async () => expect(await readHook(service, token, id)).toMatchObject({ state, failures }));
  await waitForState('failing', 1);
  // As many attempts as are made in this time at least.
  const claimed = await storedHook(service, id);
  await service.store.hooks.settle([{ claimed, progress: { ...claimed, failures: 289 } }]);
  clock.advance(3 * 86_400_000);
  await waitForState('disabled', 290);
  clock.advance(60_000);
  receiver.respond = respondWith(200);
  const again = await subscribe(service, token, receiver.url);
  expect(again).toMatchObject({ id, state: 'active' });
  expect((await receiver.event(3)).event.data.through).toBe(iso(created));
});
