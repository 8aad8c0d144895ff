import type { Hook, SubscribedHook } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { leadsOf } from '../hooks/support/lead-receiver.ts';
import { type Instance, programOf } from './programs.ts';
import { restoreRelease, unpackProgram } from './release.ts';

/** The last version sends events only. After a rollback it sends no leads, and must not move the position of such a hook. */
it('a version without webhooks that send leads leaves them alone, and the next version sends what came meanwhile', async () => {
  const [events, leads] = [await startReceiver(), await startReceiver()];
  const database = await restoreRelease();
  const { tokens } = database.expected;
  const settings = { LEADTAP_HOOK_HOSTS: `${events.origin},${leads.origin}` };
  const request = async ({ url }: Instance, name: string, path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${tokens[name]?.token}`,
      ...(body && { 'content-type': 'application/json' }),
    };
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const response = await fetch(`${url}${path}`, init);
    expect(response.ok).toBe(true);
    return response.json();
  };

  const current = programOf(database, undefined, settings);
  const first = await current.serve();
  const subscribe = async (url: string, send: string) =>
    (await request(first, 'ada', '/automation/hooks', { url, send })) as SubscribedHook;
  const hooks = [await subscribe(leads.url, 'lead'), await subscribe(leads.url, 'leads')];
  await subscribe(events.url, 'event');
  await first.stop();

  const old = await programOf(database, unpackProgram(), settings).serve();
  for (const [index, id] of ['a', 'b'].entries()) {
    await request(old, 'sender', '/leads', { id, fullName: id });
    // Its events show that it has claimed what is due.
    await events.event(index + 1);
  }
  const stored = hooks.map(({ id }) => request(old, 'ada', `/automation/hooks/${id}`) as Promise<Hook>);
  expect((await Promise.all(stored)).map(({ announcedThrough }) => announcedThrough)).toEqual(
    hooks.map(({ since }) => since),
  );
  await old.stop();
  expect(leads.events).toEqual([]);

  const next = await current.serve();
  await leads.event(3);
  const received = leads.events.flatMap(leadsOf).map(({ id }) => id);
  expect(received.sort()).toEqual(['a', 'a', 'b', 'b']);
  await next.stop();
});
