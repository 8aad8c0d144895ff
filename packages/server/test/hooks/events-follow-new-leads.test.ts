import { HookEvent } from '@leadtap/contract/schemas';
import { Webhook } from 'standardwebhooks';
import { Errors } from 'typebox/value';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { VERSION } from '../../src/lib/version.ts';
import { hooksRequest, readHook, startWith, storedHook, subscribe } from './support/hooks.ts';

const iso = (ms: number) => new Date(ms).toISOString();

it('an event says where the new leads are, is signed, and contains no lead', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const token = await service.token('boss');
  const { id, secret, since } = await subscribe(service, token, receiver.url);
  const [created = 0] = await service.add({ fields: { firstName: 'Ada', email: 'ada@example.com' } });
  const { headers, method, path, text, event } = await receiver.event(1);
  expect([...Errors(HookEvent, event)]).toEqual([]);
  expect(event).toEqual({
    type: 'leads.available',
    timestamp: expect.any(String),
    data: {
      hookId: id,
      since,
      through: iso(created),
      poll: `${service.url}/automation/new-leads?since=${since}&limit=100`,
    },
  });
  expect(text).not.toContain('example.com');
  expect(text).not.toContain('firstName');
  expect([method, path]).toEqual(['POST', '/hook']);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': `Leadtap/${VERSION}`,
    'webhook-timestamp': String(Math.floor(Date.parse(event.timestamp) / 1000)),
  });
  const verified = new Webhook(secret).verify(text, headers as Record<string, string>);
  expect(verified).toEqual(event);
  const forged = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`);
  expect(() => forged.verify(text, headers as Record<string, string>)).toThrow();
  await vi.waitFor(async () =>
    expect(await readHook(service, token, id)).toMatchObject({
      state: 'active',
      announcedThrough: iso(created),
      lastStatus: 200,
    }),
  );
  const response = await fetch(event.data.poll, { headers: { authorization: `Bearer ${token}` } });
  expect(await response.json()).toMatchObject([{ firstName: 'Ada' }]);
});

it('a since of the past is announced at once', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const [created = 0] = await service.add({});
  await subscribe(service, await service.token('boss'), receiver.url, '2020-01-01');
  const { event } = await receiver.event(1);
  expect(event.data).toMatchObject({ since: '2020-01-01T00:00:00.000Z', through: iso(created) });
});

it('only leads that the user may see are announced', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  await subscribe(service, await service.token('north-lead'), receiver.url);
  await service.add({ branchId: 'south' }, { companyId: 'globex' });
  const [visible = 0] = await service.add({ branchId: 'north' });
  await service.add({ branchId: 'south' });
  const { event } = await receiver.event(1);
  expect(event.data.through).toBe(iso(visible));
});

it('LEADTAP_PUBLIC_URL is the base URL of poll, also if it was set after the subscription', async () => {
  const receiver = await startReceiver();
  const first = await startWith(receiver);
  await subscribe(first, await first.token('boss'), receiver.url);
  await first.stop();
  const env = { LEADTAP_PUBLIC_URL: 'https://leads.example.com/api' };
  const service = await startWith(receiver, { env, beside: first });
  await service.add({});
  const { event } = await receiver.event(1);
  expect(event.data.poll).toMatch(/^https:\/\/leads\.example\.com\/api\/automation\/new-leads\?since=/);
});

it('a failed event is repeated with the same id and a fresh signature', async () => {
  const clock = manualClock();
  const receiver = await startReceiver();
  receiver.respond = respondWith(500);
  const service = await startWith(receiver, { clock });
  const token = await service.token('boss', { expiresInMs: 1e9 });
  const { id, secret } = await subscribe(service, token, receiver.url);
  await service.add({});
  const first = await receiver.event(1);
  await vi.waitFor(async () =>
    expect(await readHook(service, token, id)).toMatchObject({
      state: 'failing',
      failures: 1,
      lastStatus: 500,
    }),
  );
  expect((await storedHook(service, id)).notBefore - clock()).toBeGreaterThanOrEqual(5000);
  receiver.respond = respondWith(200);
  clock.advance(6000);
  const second = await receiver.event(2);
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature']);
  expect(second.event.data).toEqual(first.event.data);
  await vi.waitFor(async () =>
    expect(await readHook(service, token, id)).toMatchObject({
      state: 'active',
      failures: 0,
      lastStatus: 200,
    }),
  );
  expect(secret).toMatch(/^whsec_/);
});

it('410 deletes the hook', async () => {
  const receiver = await startReceiver();
  receiver.respond = respondWith(410);
  const service = await startWith(receiver);
  const token = await service.token('boss');
  const { id } = await subscribe(service, token, receiver.url);
  await service.add({});
  await receiver.event(1);
  await vi.waitFor(async () =>
    expect((await hooksRequest(service, token, { path: `/${id}` })).status).toBe(404),
  );
});
