// @nightly and after a change of integrations/activepieces/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import { TriggerTestStrategy } from '@activepieces/shared';
import { RATE_LIMITS } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import {
  type Automations,
  hooksOf,
  startAutomations,
  untilAnnounced,
} from '../../../packages/testing/integrations/automations.ts';
import { serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { InstantFlow } from './activepieces.ts';

const idsOf = ({ started }: InstantFlow): string[] => started.map(({ id }) => id);

/** A flow of the platform that is not published yet. */
async function create(platform: Automations, now?: () => number): Promise<InstantFlow> {
  const flow = new InstantFlow(await connectionOf(platform.service), now && { now });
  flow.webhookUrl = platform.add(flow.receive);
  return flow;
}

async function publish(platform: Automations, now?: () => number): Promise<InstantFlow> {
  const flow = await create(platform, now);
  await flow.enable();
  return flow;
}

it('an event starts the flow for each lead that came since it was published', async () => {
  const platform = await startAutomations();
  await addLeads(platform.service, 3, 'before');
  const flow = await publish(platform);
  const ids = await addLeads(platform.service, 330, 'lead');
  await untilAnnounced(platform.service);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
  expect(flow.started[0]).toEqual((await platform.service.leads('boss', 'since=1970-01-01')).at(3));
});

it('begins where the user wants it to, and reads more than a run reads', async () => {
  const platform = await startAutomations();
  const ids = await addLeads(platform.service, 2_030, 'old');
  const flow = await create(platform);
  flow.startAt = '2020-01-01T00:00:00.000Z';
  await flow.enable();
  await untilAnnounced(platform.service);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids.slice(0, 2_000));
  await untilAnnounced(platform.service);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('a lost event costs only time: the renewal, or the next event, brings its leads', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  const renewed = await addLeads(service, 3, 'renewed');
  await untilAnnounced(service);
  flow.queue.length = 0;
  await flow.renew();
  await untilAnnounced(service);
  await flow.work();
  expect(idsOf(flow)).toEqual(renewed);
  const lost = await addLeads(service, 3, 'lost');
  await untilAnnounced(service);
  flow.queue.length = 0;
  const next = await addLeads(service, 3, 'next');
  await untilAnnounced(service);
  await flow.work();
  expect(idsOf(flow)).toEqual([...renewed, ...lost, ...next]);
});

it('a renewal without unread leads keeps the hook, and announces nothing', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  await addLeads(service, 1, 'lead');
  await untilAnnounced(service);
  await flow.work();
  const before = await hooksOf(service);
  await flow.renew();
  expect(await hooksOf(service)).toMatchObject(before.map(({ id, lastEventAt }) => ({ id, lastEventAt })));
});

it('a renewal that fails half-way keeps the hook', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  const ids = await addLeads(service, 1, 'lead');
  await untilAnnounced(service);
  const send = fetch;
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation((address, init) => {
    if (init?.method === 'DELETE') return Promise.reject(new Error('unreachable'));
    return send(address, init);
  });
  await expect(flow.renew()).rejects.toThrow('cannot be reached');
  fetched.mockRestore();
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('events that are doubled, late, or handled at the same time repeat nothing', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  let now = Date.now();
  const flow = await publish(platform, () => now);
  const ids = await addLeads(service, 90, 'first');
  await untilAnnounced(service);
  const [first] = platform.events as [ReceivedEvent];
  flow.receive(first);
  flow.receive(first);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
  now += 3_600_000;
  ids.push(...(await addLeads(service, 90, 'second')));
  flow.receive(first);
  await flow.work();
  await untilAnnounced(service);
  now += 3_600_000;
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('a run that ends after a later one does not set the position back', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  await addLeads(service, 1, 'first');
  await untilAnnounced(service);
  const [event] = platform.events as [ReceivedEvent];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const fetched = vi.spyOn(globalThis, 'fetch');
  const arrived = new Promise<void>((resolve) => {
    fetched.mockImplementationOnce(async (...request) => {
      const answer = await fetch(...request);
      resolve();
      await held;
      return answer;
    });
  });
  const slow = flow.work();
  await arrived;
  await addLeads(service, 1, 'second');
  flow.receive(event);
  await flow.work();
  const position = flow.memory.get('position');
  release();
  await slow;
  fetched.mockRestore();
  expect(flow.memory.get('position')).toBe(position);
  expect(idsOf(flow)).toEqual(['first-0', 'second-0']);
});

it.each<[string, (event: ReceivedEvent) => Partial<ReceivedEvent>]>([
  ['no signature', ({ headers: { 'webhook-signature': _, ...headers } }) => ({ headers })],
  ['another body', ({ text }) => ({ text: text.replace('{', '{ ') })],
  ['another time', ({ headers }) => ({ headers: { ...headers, 'webhook-timestamp': '1' } })],
  ['another signature', ({ headers }) => ({ headers: { ...headers, 'webhook-signature': 'v1, v1,é' } })],
])('an event with %s starts no flow and does not poll', async (_name, forge) => {
  const platform = await startAutomations();
  const flow = await publish(platform);
  await addLeads(platform.service, 1, 'lead');
  await untilAnnounced(platform.service);
  const [event] = platform.events as [ReceivedEvent];
  flow.queue.length = 0;
  flow.receive({ ...event, ...forge(event) });
  const fetched = vi.spyOn(globalThis, 'fetch');
  await flow.work();
  expect(fetched).not.toHaveBeenCalled();
  fetched.mockRestore();
  flow.receive(event);
  await flow.work();
  expect(idsOf(flow)).toEqual(['lead-0']);
});

it.each([0, 2])('a 429 after %i pages loses nothing and repeats nothing', async (pages) => {
  const clock = manualClock();
  const platform = await startAutomations({ clock });
  const { service } = platform;
  const flow = await publish(platform, clock);
  const ids = await addLeads(service, 330, 'lead');
  await untilAnnounced(service, clock());
  await leaveRequests(service, pages, 3);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids.slice(0, pages * 100));
  expect(flow.errors.join()).toMatch(pages === 0 ? /429: .* nothing is lost/ : /^$/);
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  await flow.renew();
  await untilAnnounced(service, clock());
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('a restart of the service keeps the subscription and its secret', async () => {
  const platform = await startAutomations();
  const flow = await publish(platform);
  const restarted = await platform.restart();
  flow.connection = { ...flow.connection, baseUrl: restarted.url };
  const ids = await addLeads(restarted, 2, 'lead');
  await untilAnnounced(restarted);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('continues with a new token after a revoked one, from its position', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  const [hook] = await hooksOf(service);
  await service.store.revokeToken(hook?.tokenId ?? '');
  const ids = await addLeads(service, 3, 'lead');
  await expect(flow.renew()).rejects.toThrow(/^Leadtap answered 401/);
  flow.connection = await connectionOf(service);
  await flow.renew();
  await untilAnnounced(service);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('a new token in the connection leaves one hook', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const flow = await publish(platform);
  const [before] = await hooksOf(service);
  flow.connection = await connectionOf(service);
  await flow.renew();
  const after = await hooksOf(service);
  expect(after).toMatchObject([{ url: flow.webhookUrl }]);
  expect(after[0]?.id).not.toBe(before?.id);
});

it('a flow that is published twice has one hook; switched off, it has none', async () => {
  const platform = await startAutomations();
  const flow = await publish(platform);
  await flow.enable();
  expect(await hooksOf(platform.service)).toMatchObject([{ url: flow.webhookUrl }]);
  await flow.disable();
  expect(await hooksOf(platform.service)).toEqual([]);
});

it('the leads that come while an edited flow is published are not lost', async () => {
  const platform = await startAutomations();
  const flow = await publish(platform);
  await flow.disable();
  const ids = await addLeads(platform.service, 3, 'lead');
  await flow.enable(true);
  // It is not enabled yet when the first event comes.
  await flow.renew();
  await untilAnnounced(platform.service);
  await flow.work();
  expect(idsOf(flow)).toEqual(ids);
});

it('a flow that was deleted without a word is forgotten; one that is off is failing', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const [deleted, off] = [await publish(platform), await publish(platform)];
  deleted.status = 'deleted';
  off.status = 'disabled';
  await addLeads(service, 1, 'lead');
  await vi.waitFor(async () =>
    expect(await hooksOf(service)).toMatchObject([{ url: off.webhookUrl, lastStatus: 404 }]),
  );
});

it('can be switched off while Leadtap is unreachable', async () => {
  const platform = await startAutomations();
  const flow = await publish(platform);
  await platform.service.stop();
  await flow.disable();
  expect(flow.memory.has('hook')).toBe(false);
});

it('two flows of one user are started for every lead', async () => {
  const platform = await startAutomations();
  const flows = [await publish(platform), await publish(platform)];
  const ids = await addLeads(platform.service, 3, 'lead');
  await untilAnnounced(platform.service);
  for (const flow of flows) await flow.work();
  expect(flows.map(idsOf)).toEqual([ids, ids]);
});

it('shows the newest leads in the editor, without a hook', async () => {
  const platform = await startAutomations();
  const ids = await addLeads(platform.service, 7, 'lead');
  const flow = await create(platform);
  expect(flow.trigger.testStrategy).toBe(TriggerTestStrategy.TEST_FUNCTION);
  expect(await flow.sample()).toMatchObject(
    ids
      .slice(-5)
      .reverse()
      .map((id) => ({ id })),
  );
  expect([await hooksOf(platform.service), flow.memory.size]).toEqual([[], 0]);
});

it('says why a flow cannot be published', async () => {
  const platform = await startAutomations({ env: { LEADTAP_HOOKS: 'off' } });
  const flow = await create(platform);
  await expect(flow.enable()).rejects.toThrow(/404: .*LEADTAP_HOOKS=off/);
  const allowed = await startAutomations();
  flow.connection = await connectionOf(allowed.service);
  flow.webhookUrl = 'https://flows.example.com/api/v1/webhooks/1';
  await expect(flow.enable()).rejects.toThrow(/^Leadtap answered 422/);
  flow.startAt = '2020-01-01T00:00:00.000Z';
  flow.connection = { baseUrl: await serveAnswer({ body: '{}' }), token: 'any' };
  await expect(flow.enable()).rejects.toThrow(/answered 200, but not with a subscription of Leadtap/);
});
