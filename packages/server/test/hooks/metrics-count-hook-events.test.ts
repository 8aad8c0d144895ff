import { expect, it, vi } from 'vitest';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startWith, subscribe } from './support/hooks.ts';

it('requests to webhooks are counted by outcome', async () => {
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
      'leadtap_hook_events_total{outcome="accepted"} 1',
      'leadtap_hook_events_total{outcome="refused"} 1',
    ])
      expect(text).toContain(line);
  });
});
