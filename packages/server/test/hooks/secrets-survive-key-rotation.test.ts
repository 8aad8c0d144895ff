import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startWith, subscribe } from './support/hooks.ts';

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
