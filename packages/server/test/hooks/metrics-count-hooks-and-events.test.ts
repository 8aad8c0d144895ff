import { expect, it, vi } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startWith, subscribe } from './support/hooks.ts';

it('hooks by state, and attempts by outcome', async () => {
  const [good, bad] = [await startReceiver(), await startReceiver()];
  bad.respond = respondWith(500);
  const service = await startWith(good, { env: { LEADTAP_HOOK_HOSTS: `${good.origin},${bad.origin}` } });
  const token = await service.token('boss');
  await subscribe(service, token, good.url);
  await subscribe(service, token, bad.url);
  await service.add({});
  await vi.waitFor(async () => {
    const text = await (await fetch(service.metricsUrl)).text();
    for (const line of [
      'leadtap_hooks{state="active"} 1',
      'leadtap_hooks{state="failing"} 1',
      'leadtap_hooks{state="disabled"} 0',
      'leadtap_hook_events_total{outcome="accepted"} 1',
      'leadtap_hook_events_total{outcome="refused"} 1',
    ])
      expect(text).toContain(line);
  });
});

it('no hook: nothing is claimed and no change log is read', async () => {
  const service = await startService();
  const { hooks, changeTracking } = service.store;
  if (!hooks || !changeTracking) throw new Error('the store has no hooks or no change log');
  const claim = vi.spyOn(hooks, 'claim');
  const revalidate = vi.spyOn(changeTracking, 'revalidate');
  // A request of its own takes longer than several ticks would.
  const receiver = await startReceiver();
  const other = await startWith(receiver);
  await subscribe(other, await other.token('boss'), receiver.url);
  await other.add({});
  await receiver.event(1);
  expect([claim.mock.calls.length, revalidate.mock.calls.length]).toEqual([0, 0]);
});
