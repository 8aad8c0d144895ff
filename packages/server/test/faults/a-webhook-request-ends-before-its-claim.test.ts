import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import type { HookStore } from '../../src/hooks/store.ts';
import { shareCluster } from './cluster.ts';
import { addLead, serve } from './instance.ts';

/** A request takes 10 seconds at most. It is checked a moment after it has begun. */
const REQUEST_MS = 9000;
/** A claim lasts 15 seconds, so that no request may begin in it any more. */
const HANG_MS = 7000;

const server = shareCluster();

async function hang(): Promise<void> {
  server().pause();
  await wait(HANG_MS);
  server().resume();
}

/** Otherwise, another instance would claim the webhook and send the same lead. */
it.each<[string, (hooks: HookStore, url: string) => void]>([
  [
    'a lead is read',
    (hooks) => {
      const { readLead } = hooks;
      vi.spyOn(hooks, 'readLead').mockImplementationOnce(async (...claimed) => {
        void hang();
        return readLead(...claimed);
      });
    },
  ],
  [
    'a claim is answered',
    (hooks, url) => {
      const { claim } = hooks;
      const claims = vi.spyOn(hooks, 'claim').mockImplementation(async (query) => {
        const due = await claim(query);
        if (!due.some(({ hook }) => hook.url === url)) return due;
        claims.mockImplementation(claim);
        await hang();
        return due;
      });
    },
  ],
])('a request ends before its claim, also if the database hangs while %s', async (name, prepare) => {
  const receiver = await startReceiver();
  const { store, url, token } = await serve(server().url, { env: { LEADTAP_HOOK_HOSTS: receiver.origin } });
  const hooks = store.hooks;
  // Before it is subscribed: no claim of it is on its way.
  prepare(hooks, receiver.url);
  const subscribed = await fetch(`${url}/automation/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await token('acme')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, send: 'lead' }),
  });
  const { id } = (await subscribed.json()) as { id: string };
  const left: number[] = [];
  receiver.respond = async (response) => {
    left.push(((await hooks.find(id))?.notBefore ?? 0) - (await hooks.now()));
    respondWith(200)(response);
  };
  const [ids, begunAt] = [[`first, ${name}`, `second, ${name}`], performance.now()];
  for (const lead of ids) await addLead(store, lead);
  await receiver.event(2);
  expect(performance.now() - begunAt).toBeGreaterThan(HANG_MS);
  await vi.waitFor(() => expect(left).toHaveLength(2));
  expect(Math.min(...left)).toBeGreaterThan(REQUEST_MS);
  expect(receiver.events.map(({ text }) => JSON.parse(text).id)).toEqual(ids);
});
