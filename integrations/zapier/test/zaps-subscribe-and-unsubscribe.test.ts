import { PROBLEMS } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import { startReceiver } from '../../../packages/testing/integrations/hook-receiver.ts';
import { subscribe } from '../src/triggers/new-lead-instant.ts';
import { connect, failureOf, run } from './connection.ts';
import { InstantZap } from './instant-zap.ts';

async function start() {
  const receiver = await startReceiver();
  const test = await startService({
    env: { LEADTAP_HOOK_HOSTS: receiver.origin, LEADTAP_BASE_PATH: '/api' },
  });
  const connection = await connect(test);
  const zap = await InstantZap.turnOn(receiver, connection);
  const findHook = () => test.store.hooks.find(zap.subscription.id);
  return { receiver, test, connection, zap, hookId: zap.subscription.id, findHook };
}

const subscribing = (baseUrl: string, targetUrl: string, token = 'any') =>
  failureOf(run(subscribe, { baseUrl, token }, {}, { targetUrl }));

it('a Zap that is turned on is subscribed with its own address; turned off, it is not', async () => {
  const { test, zap, hookId } = await start();
  expect(zap.subscription).toEqual({
    id: expect.stringMatching(/^\w{32}$/),
    secret: expect.stringMatching(/^whsec_/),
  });
  expect(await test.store.hooks.find(hookId)).toMatchObject({ url: zap.targetUrl, userId: 'boss' });
  await zap.turnOff();
  expect(await test.store.hooks.find(hookId)).toBeUndefined();
});

it('a deleted Zap, which is never unsubscribed, loses its subscription with the next event', async () => {
  const { test, zap, hookId } = await start();
  zap.delete();
  await test.add({});
  await vi.waitFor(async () => expect(await test.store.hooks.find(hookId)).toBeUndefined());
});

it('a revoked token expires the connection, and no event follows', async () => {
  const { receiver, test, zap, findHook } = await start();
  await test.add({ id: 'before' });
  await receiver.event(1);
  await vi.waitFor(async () => expect((await findHook())?.lastStatus).toBe(200));
  const tokenId = (await findHook())?.tokenId ?? '';
  await test.store.revokeToken(tokenId);
  const failure = await failureOf(zap.runAccepted());
  expect(failure.name).toBe('ExpiredAuthError');
  expect(failure.message).toContain(PROBLEMS['token-revoked'].detail);
  const other = await InstantZap.turnOn(receiver, await connect(test), '/other');
  await test.add({ id: 'after' });
  await vi.waitFor(() => expect(other.accepted).toHaveLength(1));
  expect(zap.accepted).toEqual([]);
  await zap.turnOff();
  expect(zap.runs).toEqual([]);
});

it('a service without events says which trigger to choose', async () => {
  const test = await startService({ env: { LEADTAP_HOOKS: 'off' } });
  const { token } = await connect(test);
  const failure = await subscribing(test.url, 'https://hooks.zapier.com/hooks/standard/1/a/', token);
  expect(failure).toMatchObject({ name: 'AppError', code: 'no-events', status: 404 });
  expect(failure.message).toMatch(/Choose the trigger New Lead instead\.$/);
});

it('the address of Zapier is allowed, another one is refused with the sentence of the service', async () => {
  const { test, connection } = await start();
  const allowed = { targetUrl: 'https://hooks.zapier.com/hooks/standard/1/a/' };
  expect(await run(subscribe, connection, {}, allowed)).toHaveProperty('secret');
  expect(await subscribing(test.url, 'https://example.com/', connection.token)).toMatchObject({
    code: 'hook-host-not-allowed',
    message: PROBLEMS['hook-host-not-allowed'].detail,
  });
});

it.each(['{}', 'null', '[]', '"maintenance"', '<!doctype html>', ''])(
  'an answer of another program is no subscription: %s',
  async (body) => {
    const failure = await subscribing(
      await serveAnswer({ body, type: 'application/json' }),
      'https://hooks.zapier.com/',
    );
    expect(failure).toMatchObject({ name: 'AppError', code: 'no-leadtap', status: 200 });
    expect(failure.message).toMatch(/answered 200, but not with a subscription of Leadtap.*base address/);
  },
);
