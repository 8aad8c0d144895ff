// @both-stores for each change
import { expect, inject, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startWith, storedHook, subscribe } from './support/hooks.ts';

const iso = (ms: number) => new Date(ms).toISOString();

it('leads that come while no instance runs are announced at the next start', async () => {
  const receiver = await startReceiver();
  const first = await startWith(receiver);
  const { id } = await subscribe(first, await first.token('boss'), receiver.url);
  await first.stop();
  const second = await startWith(receiver, { beside: first, prepare: () => undefined });
  const [created = 0] = await second.add({});
  const { event } = await receiver.event(1);
  expect(event.data).toMatchObject({ hookId: id, through: iso(created) });
});

it('the claim of a killed instance ends, and another one sends the event', async () => {
  const clock = manualClock();
  const receiver = await startReceiver();
  const service = await startService({
    clock,
    env: { LEADTAP_HOOK_HOSTS: receiver.origin, LEADTAP_HOOKS: 'off' },
  });
  const { hooks } = service.store;
  await hooks.subscribe(
    {
      ...{ id: 'a'.repeat(32), userId: 'boss', tokenId: null, tokenExpiresAt: null },
      ...{ url: receiver.url, send: 'event', baseUrl: service.url, since: 1 },
    },
    20,
  );
  const [created = 0] = await service.add({});
  // As an instance does that is killed before it sends the event.
  const claimed = await hooks.claim({ claimMs: 15_000, companies: 'all', limit: 10 });
  expect(claimed).toHaveLength(1);
  const other = await startWith(receiver, { beside: service, clock });
  const claims = vi.spyOn(other.store.hooks, 'claim');
  await vi.waitFor(() => expect(claims.mock.results.length).toBeGreaterThan(1));
  expect(receiver.events).toEqual([]);
  clock.advance(15_001);
  expect((await receiver.event(1)).event.data.through).toBe(iso(created));
});

it('two instances send each event once', async () => {
  // It stands still, so no claim of an event in flight ends, however slow the machine is.
  const clock = manualClock();
  const receiver = await startReceiver();
  const one = await startWith(receiver, { clock });
  const two = await startWith(receiver, { beside: one, clock });
  const token = await one.token('boss');
  const hooks = [];
  for (let index = 0; index < 20; index += 1)
    hooks.push(await subscribe(index % 2 ? one : two, token, `${receiver.url}/${index}`));
  for (let round = 1; round <= 3; round += 1) {
    const [created = 0] = await one.add({});
    for (const { id } of hooks)
      await vi.waitFor(async () => expect((await storedHook(one, id)).announcedThrough).toBe(created));
    // The pause between two events of a hook.
    clock.advance(1001);
  }
  const ids = receiver.events.map(({ headers }) => headers['webhook-id']);
  expect([ids.length, new Set(ids).size]).toEqual([60, 60]);
});

if (inject('store') === 'postgres')
  it('instances whose clocks differ by an hour send one event a second, by the clock of the database', async () => {
    const clock = manualClock();
    const receiver = await startReceiver();
    const ahead = await startWith(receiver, { clock: () => clock() + 3_600_000 });
    const behind = await startWith(receiver, { beside: ahead, clock: () => clock() - 3_600_000 });
    await ahead.database.useClock(clock);
    const token = await ahead.token('boss', { expiresInMs: 1e9 });
    const { id } = await subscribe(ahead, token, receiver.url);
    // So that it looks for hooks at once.
    await subscribe(behind, await behind.token('rival', { expiresInMs: 1e9 }), receiver.url);
    const [first = 0] = await ahead.add({});
    await vi.waitFor(async () => expect((await storedHook(ahead, id)).announcedThrough).toBe(first));
    const claims = [ahead, behind].map(({ store }) => vi.spyOn(store.hooks, 'claim'));
    const [second = 0] = await ahead.add({});
    await vi.waitFor(() => expect(claims.every(({ mock }) => mock.results.length > 2)).toBe(true));
    expect(receiver.events).toHaveLength(1);
    clock.advance(1001);
    expect((await receiver.event(2)).event.data.through).toBe(iso(second));
  });

it('an event in flight finishes when the service stops, and its result is stored', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const { id } = await subscribe(service, await service.token('boss'), receiver.url);
  let answer: () => void = () => undefined;
  receiver.respond = (response) => {
    answer = () => respondWith(200)(response);
  };
  const [created = 0] = await service.add({});
  await receiver.event(1);
  const stopped = service.stop();
  answer();
  await stopped;
  const next = await startService({ beside: service, env: { LEADTAP_HOOKS: 'off' } });
  expect(await storedHook(next, id)).toMatchObject({ announcedThrough: created, lastStatus: 200 });
});

it('an event that hangs does not delay a stop, and is sent again', async () => {
  const clock = manualClock();
  const receiver = await startReceiver();
  receiver.respond = () => undefined;
  const service = await startWith(receiver, { clock });
  const { id } = await subscribe(service, await service.token('boss'), receiver.url);
  await service.add({});
  await receiver.event(1);
  await service.stop();
  receiver.respond = respondWith(200);
  const next = await startWith(receiver, { beside: service, clock });
  expect(await storedHook(next, id)).toMatchObject({ failures: 0, lastStatus: null });
  clock.advance(15_001);
  const repeated = await receiver.event(2);
  expect(repeated.headers['webhook-id']).toBe(receiver.events[0]?.headers['webhook-id']);
});

it('an instance that may not send to a host leaves the hook to the others, and its log names the reason', async () => {
  const lines: string[] = [];
  const clock = manualClock();
  const [receiver, other] = [await startReceiver(), await startReceiver()];
  const service = await startWith(receiver, { clock });
  const token = await service.token('boss', { expiresInMs: 1e9 });
  const { id } = await subscribe(service, token, `${receiver.url}/secret-part`);
  await service.stop();
  const next = await startWith(other, {
    beside: service,
    clock,
    logTo: { write: (line) => lines.push(line) },
  });
  const own = await subscribe(next, token, other.url);
  for (let count = 1; count <= 3; count += 1) {
    const [created = 0] = await next.add({});
    await other.event(count);
    await vi.waitFor(async () => expect((await storedHook(next, own.id)).announcedThrough).toBe(created));
    clock.advance(1001);
  }
  await vi.waitFor(async () =>
    expect(await storedHook(next, id)).toMatchObject({ failures: 0, lastEventAt: null, disabledAt: null }),
  );
  expect(receiver.events).toEqual([]);
  // Once: it is not claimed again.
  expect(lines.filter((line) => line.includes('"outcome":"not-allowed"'))).toHaveLength(1);
  expect(lines.join('')).toContain(new URL(receiver.url).host);
  expect(lines.join('')).not.toContain('secret-part');
  expect(await (await fetch(next.metricsUrl)).text()).toContain(
    'leadtap_hook_events_total{outcome="not-allowed"} 1',
  );
  await startWith(receiver, { beside: service, clock });
  expect((await receiver.event(1)).event.data.hookId).toBe(id);
});
