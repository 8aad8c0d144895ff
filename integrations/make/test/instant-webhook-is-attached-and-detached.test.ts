import { describe, expect, it, vi } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { FOREIGN_ANSWERS, serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import { startHookPlatform } from '../../../packages/testing/integrations/hook-platform.ts';
import { connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { InstantScenario } from './interpreter/instant-scenario.ts';

async function start({ env, userId }: { env?: Record<string, string>; userId?: string } = {}) {
  const platform = await startHookPlatform();
  const service = await startService({ env: { LEADTAP_HOOK_HOSTS: platform.origin, ...env } });
  const connection = await connectionOf(service, userId);
  const url = platform.open(() => undefined);
  const scenario = new InstantScenario({ connection, url, process: () => undefined });
  const find = () => service.store.hooks.find(scenario.data['hookId'] ?? '');
  return { platform, service, connection, scenario, find };
}

it('attach subscribes the address of the webhook, detach deletes the subscription', async () => {
  const { scenario, find } = await start();
  await scenario.attach();
  expect(await find()).toMatchObject({ url: scenario.url });
  await scenario.detach();
  expect(await find()).toBeUndefined();
});

it('detach works with a token that is not valid any more', async () => {
  const { scenario, connection, find } = await start();
  await scenario.attach();
  scenario.connection = { ...connection, token: 'revoked' };
  await scenario.detach();
  expect(await find()).toBeUndefined();
});

it('a webhook that Make has deleted without detach answers 410: the subscription is deleted', async () => {
  const { platform, service, scenario, find } = await start();
  await scenario.attach();
  platform.close(scenario.url);
  await service.add({ id: 'lead' });
  await vi.waitFor(async () => expect(await find()).toBeUndefined());
});

it('a revoked token gets no event', async () => {
  const { platform, service, scenario, connection } = await start();
  await scenario.attach();
  const other = new InstantScenario({
    connection: await connectionOf(service),
    url: platform.open(() => undefined),
    process: () => undefined,
  });
  await other.attach();
  const [, payload = ''] = connection.token.split('.');
  const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { jti: string };
  await service.store.revokeToken(jti);
  await service.add({ id: 'lead' });
  await vi.waitFor(() => expect(platform.events).not.toEqual([]));
  expect(platform.events.map(({ event }) => event.data.hookId)).toEqual([other.data['hookId']]);
});

describe('an attach that fails says what to do', () => {
  it.each([
    [
      'an address that is not allowed',
      { env: { LEADTAP_HOOK_HOSTS: '' } },
      'RuntimeError',
      /^\[422\] .*https/,
    ],
    [
      'webhooks switched off',
      { env: { LEADTAP_HOOKS: 'off' } },
      'InvalidConfigurationError',
      /webhooks switched off/,
    ],
    ['another plan', { userId: 'starter' }, 'InvalidConfigurationError', /^\[403\] .*Professional plan/],
    [
      'an unknown user',
      { userId: 'unknown-user' },
      'InvalidConfigurationError',
      /^\[404\] .*user of the token/,
    ],
  ])('%s', async (_, options, type, message) => {
    const { scenario } = await start(options);
    await expect(scenario.attach()).rejects.toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it.each(FOREIGN_ANSWERS)('$name instead of a subscription', async (answer) => {
    const { scenario, connection } = await start();
    scenario.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    await expect(scenario.attach()).rejects.toThrow(/not with a webhook subscription of Leadtap|not JSON/);
    await expect(scenario.detach()).rejects.toThrow(/not as Leadtap does|not JSON/);
  });
});
