import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { terminal } from '../cli/terminal.ts';
import { ISSUER, makeKey, sign, startIdentityProvider } from '../tokens/support/identity-provider.ts';
import { startWith, storedHook, subscribe } from './support/hooks.ts';

it('while the old key is listed, events verify with the old and with the new secret', async () => {
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const receiver = await startReceiver();
  const before = await startWith(receiver, { env: { LEADTAP_SIGNING_KEY: oldKey } });
  const token = await before.token('boss');
  const old = await subscribe(before, token, receiver.url);
  await before.stop();
  const after = await startWith(receiver, {
    beside: before,
    env: { LEADTAP_SIGNING_KEY: `${newKey} ${oldKey}` },
  });
  const current = await subscribe(after, token, receiver.url);
  expect([current.id === old.id, current.secret === old.secret]).toEqual([true, false]);
  await after.add({});
  const { text, headers, event } = await receiver.event(1);
  for (const { secret } of [old, current])
    expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual(event);
});

it('nothing is sent for a token whose key was removed; a token of the new key gets all, and commands say so', async () => {
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const receiver = await startReceiver();
  const before = await startWith(receiver, { env: { LEADTAP_SIGNING_KEY: oldKey } });
  const commands = (key: string) => {
    const address = { LEADTAP_METRICS_ADDRESS: 'off', LEADTAP_PUBLIC_URL: before.url };
    const hosts = { LEADTAP_HOOK_HOSTS: receiver.origin, LEADTAP_SIGNING_KEY: key };
    return (command: string) =>
      terminal().run(command, {
        env: { ...before.database.env, ...address, ...hosts },
        parts: { clock: Date.now },
      });
  };
  const polled = await subscribe(before, await before.token('boss'), `${receiver.url}/event`);
  const add = `hooks add --user boss --url ${receiver.url}/lead`;
  const { id, since } = JSON.parse((await commands(oldKey)(`${add} --json`)).stdout);
  await before.stop();
  const run = commands(newKey);
  const after = await startWith(receiver, { beside: before, env: { LEADTAP_SIGNING_KEY: newKey } });
  await after.add({ id: 'late' });
  // Sent to the same host by the service with the new key, and nothing before it.
  const current = await subscribe(after, await after.token('boss'), `${receiver.url}/new`, since);
  expect((await receiver.event(1)).event.data.hookId).toBe(current.id);
  expect(receiver.events).toHaveLength(1);
  for (const one of [id, polled.id])
    expect(await storedHook(after, one)).toMatchObject({ lastEventAt: null });

  expect((await run('hooks list')).stdout.match(/ key-removed .* pending /g)).toHaveLength(2);
  expect(await run(`hooks send-test ${id}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the key that signed its token was removed'),
  });
  const refused = await run(add);
  expect(refused.stderr).toContain(`  leadtap hooks remove ${id}\n`);
  const [, printed = ''] =
    /\n {2}leadtap (hooks add .+)\n/.exec((await run(`hooks remove ${id}`)).stderr) ?? [];
  expect(printed).toBe(`${add} --since ${since}`);
  expect((await run(printed)).code).toBe(0);
  expect(JSON.parse((await receiver.event(2)).text)).toMatchObject({ id: 'late' });
});

it('a webhook of a token of the identity provider ends when its issuer is not accepted any more', async () => {
  const [key, next] = [await makeKey('ES256'), await makeKey('ES256')];
  const provider = await startIdentityProvider(key);
  const receiver = await startReceiver();
  const before = await startWith(receiver, { env: provider.env });
  const { id } = await subscribe(before, await sign(key), receiver.url);
  expect(await storedHook(before, id)).toMatchObject({ keyId: ISSUER });
  // The provider has replaced its key: that is its own matter.
  provider.keys = [next];
  await before.add({ id: 'a' });
  await receiver.event(1);
  await before.stop();
  const after = await startWith(receiver, { beside: before });
  const current = await subscribe(after, await after.token('boss'), `${receiver.url}/new`);
  for (const number of [2, 3]) {
    await after.add({});
    expect((await receiver.event(number)).event.data.hookId).toBe(current.id);
  }
  const listed = await after.store.hooks.list({ now: Date.now(), limit: 9, acceptedKeys: [] });
  expect(listed?.find(({ hook }) => hook.id === id)).toMatchObject({ isPending: true, isKeyRemoved: true });
});
