import { PROBLEMS } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { FOREIGN_ANSWERS, serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import { startReceiver } from '../../../packages/testing/integrations/hook-receiver.ts';
import { addLeads } from '../../../packages/testing/integrations/new-leads.ts';
import { Recipe } from './recipe.ts';
import { subscribeWithConnector } from './ruby.ts';

const MINUTE_MS = 60_000;
const WORKATO_URL = 'https://webhooks.workato.com/webhooks/notify/a';

async function start() {
  const receiver = await startReceiver();
  const clock = manualClock();
  const env = { LEADTAP_HOOK_HOSTS: receiver.origin };
  const service = await startService({ clock, env, recordFlushMs: 0 });
  const connection = {
    baseUrl: service.url,
    token: await service.token('boss', { expiresInMs: 24 * 60 * MINUTE_MS }),
  };
  await service.add({ id: 'before' });
  const recipe = await Recipe.start(receiver, connection);
  const findHook = () => service.store.hooks.find(recipe.hookId);
  const settled = (failures: number) =>
    vi.waitFor(async () => {
      const hook = await findHook();
      expect(hook).toMatchObject({ failures, lastStatus: failures > 0 ? null : 200 });
    });
  return { receiver, clock, env, service, connection, recipe, hookId: recipe.hookId, findHook, settled };
}

it('a recipe makes a job of each lead that is announced, and of none from before', async () => {
  const { receiver, service, recipe } = await start();
  const ids = await addLeads(service, 230, 'lead');
  await receiver.event(1);
  await recipe.poll();
  expect(recipe.jobs).toEqual(ids);
});

it('events that are lost, late, sent twice or forged make no job twice and lose none', async () => {
  const { receiver, service, recipe, clock, settled } = await start();
  const accept = receiver.respond;
  receiver.respond = (response) => void response.destroy();
  await service.add({ id: 'lost' });
  await receiver.event(1);
  receiver.respond = accept;
  await settled(1);
  clock.advance(6000);
  const { headers, text } = await receiver.event(2);
  await recipe.poll();
  await fetch(receiver.url, {
    method: 'POST',
    body: text,
    headers: { 'webhook-id': `${headers['webhook-id']}` },
  });
  await fetch(receiver.url, { method: 'POST', body: '{"forged":true}' });
  expect(recipe.events).toBe(2);
  await recipe.poll();
  await settled(0);
  await service.add({ id: 'late' });
  clock.advance(60 * MINUTE_MS);
  await vi.waitFor(() => expect(recipe.events).toBeGreaterThan(0));
  clock.advance(60 * MINUTE_MS);
  await recipe.poll();
  expect(recipe.jobs).toEqual(['lost', 'late']);
});

it('a poll that fails is made good by the next event, and without one by the repeated event', async () => {
  const { receiver, service, recipe, clock, connection, settled } = await start();
  const away = { ...connection, baseUrl: await serveAnswer({ status: 502, body: '' }) };
  await service.add({ id: 'a' });
  await receiver.event(1);
  await expect(recipe.poll(away)).rejects.toThrow('The base address answered 502');
  await settled(0);
  clock.advance(10 * MINUTE_MS);
  await receiver.event(2);
  expect(recipe.events).toBe(1);
  await recipe.poll();
  expect(recipe.jobs).toEqual(['a']);
});

it.each(FOREIGN_ANSWERS)('$name is no subscription', async (answer) => {
  const foreign = { baseUrl: await serveAnswer(answer), token: 'any' };
  await expect(subscribeWithConnector(foreign, WORKATO_URL)).rejects.toThrow(
    /answered 200, but not with a subscription of Leadtap.*base address/,
  );
});

it('leads that come while the service restarts are announced when it is back', async () => {
  const { receiver, service, recipe, clock, env } = await start();
  await service.stop();
  await expect(recipe.poll()).rejects.toThrow();
  const port = new URL(service.url).port;
  const restarted = await startService({ clock, beside: service, env: { ...env, LEADTAP_PORT: port } });
  await restarted.add({ id: 'a' });
  await receiver.event(1);
  await recipe.poll();
  expect(recipe.jobs).toEqual(['a']);
});

it('two recipes of one user get every lead once each', async () => {
  const { receiver, service, recipe, connection } = await start();
  const other = await Recipe.start(receiver, connection, '/other');
  await service.add({ id: 'a' }, { id: 'b' });
  await receiver.event(2);
  await recipe.poll();
  await other.poll();
  expect([recipe.jobs, other.jobs]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

it('a recipe that is stopped is unsubscribed; one that is deleted loses its subscription with the next event', async () => {
  const { receiver, service, recipe, connection, hookId } = await start();
  await recipe.stop();
  expect(await service.store.hooks.find(hookId)).toBeUndefined();
  const deleted = await Recipe.start(receiver, connection);
  const { hookId: deletedId } = deleted;
  deleted.delete();
  await service.add({});
  await vi.waitFor(async () => expect(await service.store.hooks.find(deletedId)).toBeUndefined());
});

it('a revoked token is named, and no event follows', async () => {
  const { receiver, service, recipe, findHook } = await start();
  await service.store.revokeToken((await findHook())?.tokenId ?? '');
  const other = await Recipe.start(
    receiver,
    { baseUrl: service.url, token: await service.token('boss') },
    '/other',
  );
  await service.add({});
  await vi.waitFor(() => expect(other.events).toBe(1));
  expect(recipe.events).toBe(0);
  await expect(recipe.poll()).rejects.toThrow(`Leadtap answered 401: ${PROBLEMS['token-revoked'].detail}`);
  await recipe.stop();
});

it('the address of Workato is allowed; a service without events says which trigger to use', async () => {
  const service = await startService();
  const token = await service.token('boss');
  expect(await subscribeWithConnector({ baseUrl: service.url, token }, WORKATO_URL)).toMatch(
    /^\{"id":"\w{32}"\}$/,
  );
  await expect(
    subscribeWithConnector({ baseUrl: service.url, token }, 'https://example.com/'),
  ).rejects.toThrow(`Leadtap answered 422: ${PROBLEMS['hook-host-not-allowed'].detail}`);
  const silent = await startService({ env: { LEADTAP_HOOKS: 'off' } });
  await expect(
    subscribeWithConnector({ baseUrl: silent.url, token: await silent.token('boss') }, WORKATO_URL),
  ).rejects.toThrow('This Leadtap sends no events');
});
