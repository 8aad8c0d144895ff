import type { LookupFunction } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { subscribe } from './support/hooks.ts';

/** More than one user may have. */
async function addHooks({ store }: TestService, count: number, url: string): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const hook = { userId: 'boss', tokenId: null, tokenExpiresAt: null, url: `${url}/${index}`, baseUrl: '' };
    const id = index.toString(16).padStart(32, '0');
    await store.hooks?.subscribe({ ...hook, id, since: undefined }, count);
  }
}

it('hundreds of receivers of one company that hang do not delay another company', async () => {
  const hanging = await startReceiver();
  hanging.respond = () => undefined;
  const other = await startReceiver();
  const service = await startService({
    env: { LEADTAP_HOOK_HOSTS: `${hanging.origin},${other.origin}` },
    hookDelivery: { timeoutMs: 600_000 },
  });
  await addHooks(service, 600, hanging.url);
  // The longest waiting are first: this one is the last.
  await subscribe(service, await service.token('rival'), other.url);
  await service.add({}, { companyId: 'globex' });
  await Promise.all([hanging.event(600), other.event(1)]);
});

it('the event loop turns between the events', async () => {
  const receiver = await startReceiver();
  const port = new URL(receiver.origin).port;
  let turn = 0;
  let next = setImmediate(function count() {
    turn += 1;
    next = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(next));
  const sentInTurn = new Map<number, number>();
  const lookup: LookupFunction = (_hostname, options, callback) => {
    sentInTurn.set(turn, (sentInTurn.get(turn) ?? 0) + 1);
    if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
    else callback(null, '127.0.0.1', 4);
  };
  const service = await startService({
    env: { LEADTAP_HOOK_HOSTS: `http://receiver.test:${port}` },
    hookDelivery: { agent: { lookup } },
  });
  await addHooks(service, 150, `http://receiver.test:${port}/hook`);
  await subscribe(service, await service.token('seller'), `http://receiver.test:${port}/hook`);
  await service.add({ departmentId: 'sales' });
  await vi.waitFor(() => expect(receiver.events).toHaveLength(151));
  expect(Math.max(...sentInTurn.values())).toBeLessThanOrEqual(20);
});
