import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startWith, storedHook, subscribe } from './support/hooks.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The clock is right again at the end. */
const STEPS_MS = [
  ...[2 * HOUR_MS, -2 * HOUR_MS, DAY_MS, -DAY_MS, -3 * HOUR_MS, 3 * HOUR_MS],
  ...[4 * DAY_MS, -8 * DAY_MS, 44 * DAY_MS, -40 * DAY_MS],
];

it('ten steps of the clock lose, disable and delete no subscription, whether its receiver fails or not', async () => {
  const clock = manualClock();
  const [healthy, failing] = [await startReceiver(), await startReceiver()];
  failing.respond = respondWith(500);
  const env = { LEADTAP_HOOK_HOSTS: `${healthy.origin},${failing.origin}` };
  const service = await startWith(healthy, { clock, env });
  const start = clock();
  const expiresInMs = 30 * DAY_MS;
  const token = await service.token('boss', { expiresInMs });
  const hooks = [await subscribe(service, token, healthy.url), await subscribe(service, token, failing.url)];
  const added: number[] = [];
  let events = 0;
  for (const step of STEPS_MS) {
    clock.advance(step);
    added.push(...(await service.add({})));
    // At its start, an instance deletes what has ended.
    const other = await startWith(healthy, { beside: service, clock, env });
    if (clock() - start < expiresInMs) {
      events += 1;
      await Promise.all([healthy.event(events), failing.event(events)]);
      for (const { id } of hooks)
        await vi.waitFor(async () =>
          expect((await storedHook(service, id)).lastStatus).toBe(id === hooks[0]?.id ? 200 : 500),
        );
      await vi.waitFor(async () =>
        expect((await storedHook(service, hooks[1]?.id ?? '')).failures).toBe(events),
      );
      await vi.waitFor(async () =>
        expect((await storedHook(service, hooks[0]?.id ?? '')).announcedThrough).toBe(added.at(-1)),
      );
      // Without reminders, each step has one event.
      const poll = `${service.url}/automation/new-leads`;
      await (await fetch(poll, { headers: { authorization: `Bearer ${token}` } })).arrayBuffer();
      await service.service.connections.flush();
    }
    await other.stop();
    for (const { id } of hooks) expect((await storedHook(service, id)).disabledAt).toBeNull();
  }
  failing.respond = respondWith(200);
  // Both hooks wait until the clock is advanced, so the next event of each announces this lead.
  added.push(...(await service.add({})));
  clock.advance(HOUR_MS);
  const last = [await healthy.event(events + 1), await failing.event(events + 1)];
  expect(last.map(({ event }) => Date.parse(event.data.through))).toEqual([added.at(-1), added.at(-1)]);
  expect(last[1]?.event.data.since).toBe(hooks[1]?.since);
  const windows = healthy.events.map(({ event: { data } }) => [
    Date.parse(data.since),
    Date.parse(data.through),
  ]);
  const isAnnounced = (at: number) => windows.some(([since = 0, through = 0]) => since < at && at <= through);
  expect(added.filter((at) => !isAnnounced(at))).toEqual([]);
});
