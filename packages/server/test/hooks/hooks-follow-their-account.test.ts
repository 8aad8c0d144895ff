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

it('one reminder, if the consumer has not polled 2 minutes after a 2xx', async () => {
  const clock = manualClock();
  const [silent, polling] = [await startReceiver(), await startReceiver()];
  const service = await startWith(silent, {
    clock,
    env: { LEADTAP_HOOK_HOSTS: `${silent.origin},${polling.origin}` },
  });
  const token = await service.token('boss', { expiresInMs: 1e9 });
  const pollingToken = await service.token('boss', { expiresInMs: 1e9 });
  const { id } = await subscribe(service, token, silent.url);
  const other = await subscribe(service, pollingToken, polling.url);
  const [created = 0] = await service.add({});
  const [first] = await Promise.all([silent.event(1), polling.event(1)]);
  await fetch(`${service.url}/automation/new-leads?since=2020-01-01`, {
    headers: { authorization: `Bearer ${pollingToken}` },
  });
  await service.service.recorder?.flush();
  for (const hookId of [id, other.id])
    await vi.waitFor(async () => expect((await storedHook(service, hookId)).announcedThrough).toBe(created));
  clock.advance(121_000);
  const reminder = await silent.event(2);
  expect(reminder.event.data).toEqual(first.event.data);
  expect(reminder.headers['webhook-id']).toBe(first.headers['webhook-id']);
  await vi.waitFor(async () => expect((await storedHook(service, id)).remindAt).toBeNull());
  clock.advance(3_600_000);
  // The next lead is the next event of both: neither had another reminder.
  const [next = 0] = await service.add({});
  const events = await Promise.all([silent.event(3), polling.event(2)]);
  expect(events.map(({ event }) => event.data.through)).toEqual([iso(next), iso(next)]);
});

/** A subscription whose events were accepted, and whose token has not polled. */
async function announce(events: number) {
  const clock = manualClock();
  const receiver = await startReceiver();
  const service = await startWith(receiver, { clock });
  const token = await service.token('boss', { expiresInMs: 1e9 });
  const { id, since } = await subscribe(service, token, receiver.url);
  let created = 0;
  for (let count = 1; count <= events; count += 1) {
    [created = 0] = await service.add({});
    await receiver.event(count);
    await vi.waitFor(async () => expect((await storedHook(service, id)).announcedThrough).toBe(created));
    clock.advance(1001);
  }
  return { clock, receiver, service, token, since, created };
}

it('a reminder covers all events since the last poll', async () => {
  const { clock, receiver, since, created } = await announce(3);
  clock.advance(120_000);
  expect((await receiver.event(4)).event.data).toMatchObject({ since, through: iso(created) });
});

it('a reminder covers an event that was skipped by a poll for a later one', async () => {
  const { clock, receiver, service, token, since, created } = await announce(2);
  const { poll } = (await receiver.event(2)).event.data;
  await fetch(poll, { headers: { authorization: `Bearer ${token}` } });
  await service.service.recorder?.flush();
  clock.advance(120_000);
  expect((await receiver.event(3)).event.data).toMatchObject({ since, through: iso(created) });
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
