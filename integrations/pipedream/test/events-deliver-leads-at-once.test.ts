// @nightly and after a change of integrations/pipedream/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import {
  type Automations,
  hooksOf,
  startAutomations,
  untilAnnounced,
} from '../../../packages/testing/integrations/automations.ts';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { component, logged, PipedreamSource } from './pipedream.ts';

const idsOf = ({ emitted }: PipedreamSource): string[] => emitted.map(({ id }) => id);

/** A source that was deployed. `receive` replaces what it does with a request. */
async function deploy(
  platform: Automations,
  receive?: (event: ReceivedEvent, source: PipedreamSource) => number | Promise<number>,
): Promise<PipedreamSource> {
  const source = new PipedreamSource(await connectionOf(platform.service));
  source.endpoint = platform.add((event) => (receive ?? source.receive)(event, source));
  await source.deploy();
  await source.activate();
  return source;
}

it('has an endpoint that responds itself, and a timer of 15 minutes', () => {
  expect(component.props).toMatchObject({
    http: { type: '$.interface.http', customResponse: true },
    timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } },
  });
});

it('an event brings the leads without the timer, and the timer repeats nothing', async () => {
  const platform = await startAutomations();
  const source = await deploy(platform);
  const ids = await addLeads(platform.service, 330, 'lead');
  await untilAnnounced(platform.service);
  await source.idle();
  expect(idsOf(source)).toEqual(ids);
  await source.run();
  expect(idsOf(source)).toEqual(ids);
});

it('responds after the last page, so that Leadtap starts no other run', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const responses: { status: number; emitted: number }[] = [];
  await deploy(platform, async (event, self) => {
    const status = await self.receive(event);
    responses.push({ status, emitted: self.emitted.length });
    return status;
  });
  await addLeads(service, 330, 'lead');
  await untilAnnounced(service);
  expect(responses).toEqual([{ status: 200, emitted: 330 }]);
});

it('a lost event costs only time: the timer, or the next event, brings its leads', async () => {
  const platform = await startAutomations();
  let isLost = true;
  const source = await deploy(platform, (event, self) => (isLost ? 200 : self.receive(event)));
  const byTimer = await addLeads(platform.service, 3, 'by-timer');
  await untilAnnounced(platform.service);
  expect(idsOf(source)).toEqual([]);
  await source.run();
  expect(idsOf(source)).toEqual(byTimer);
  const lost = await addLeads(platform.service, 3, 'lost');
  await untilAnnounced(platform.service);
  isLost = false;
  const next = await addLeads(platform.service, 3, 'next');
  await untilAnnounced(platform.service);
  await source.idle();
  expect(idsOf(source)).toEqual([...byTimer, ...lost, ...next]);
});

it('events that are doubled, late, or at the same time as the timer repeat nothing', async () => {
  const platform = await startAutomations();
  const source = await deploy(platform);
  const ids = await addLeads(platform.service, 90, 'first');
  await untilAnnounced(platform.service);
  const [first] = platform.events;
  if (!first) throw new Error('there is no event');
  ids.push(...(await addLeads(platform.service, 90, 'second')));
  await Promise.all([source.receive(first), source.run(), source.receive(first)]);
  await untilAnnounced(platform.service);
  expect(await source.receive(first)).toBe(200);
  await source.idle();
  expect(idsOf(source)).toEqual(ids);
});

it('a run that ends after a later one does not set the position back', async () => {
  const platform = await startAutomations();
  const source = await deploy(platform, () => 200);
  const fetched = vi.spyOn(globalThis, 'fetch');
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await addLeads(platform.service, 1, 'first');
  const arrived = new Promise<void>((resolve) => {
    fetched.mockImplementationOnce(async (...request) => {
      const answer = await fetch(...request);
      resolve();
      await held;
      return answer;
    });
  });
  const slow = source.run();
  await arrived;
  await addLeads(platform.service, 1, 'second');
  await source.run();
  const position = source.db.get('since');
  release();
  await slow;
  fetched.mockRestore();
  expect(source.db.get('since')).toBe(position);
  expect(idsOf(source)).toEqual(['first-0', 'second-0']);
});

describe('a request that is not signed by Leadtap', () => {
  const forgeries: [string, (event: ReceivedEvent) => Partial<ReceivedEvent>][] = [
    ['no signature', ({ headers: { 'webhook-signature': _, ...headers } }) => ({ headers })],
    ['another body', ({ text }) => ({ text: text.replace('leads.available', 'leads.available ') })],
    ['another id', ({ headers }) => ({ headers: { ...headers, 'webhook-id': 'msg_1' } })],
    [
      'another signature',
      ({ headers }) => ({ headers: { ...headers, 'webhook-signature': `v1,${'A'.repeat(43)}= v1, é` } }),
    ],
  ];

  it.each(forgeries)('%s: 401, and no poll', async (_name, forge) => {
    const platform = await startAutomations();
    const source = await deploy(platform, () => 200);
    await addLeads(platform.service, 1, 'lead');
    await untilAnnounced(platform.service);
    const [event] = platform.events;
    if (!event) throw new Error('there is no event');
    expect(await source.receive({ ...event, ...forge(event) })).toBe(401);
    await source.idle();
    expect(idsOf(source)).toEqual([]);
    expect(await source.receive(event)).toBe(200);
    expect(idsOf(source)).toEqual(['lead-0']);
  });

  it('the event of another source: 401', async () => {
    const platform = await startAutomations();
    const source = await deploy(platform, () => 200);
    const other = await deploy(platform);
    await addLeads(platform.service, 1, 'lead');
    await untilAnnounced(platform.service);
    const event = platform.events.find(({ path }) => other.endpoint.endsWith(path ?? ''));
    if (!event) throw new Error('there is no event');
    expect(await source.receive(event)).toBe(401);
  });
});

it('a poll that fails is answered with 503, and Leadtap sends the event again', async () => {
  const clock = manualClock();
  const platform = await startAutomations({ clock });
  const { service } = platform;
  const source = await deploy(platform);
  await leaveRequests(service, 0, 2);
  const ids = await addLeads(service, 2, 'lead');
  await vi.waitFor(async () => expect(await hooksOf(service, clock())).toMatchObject([{ lastStatus: 503 }]));
  expect(source.errors).toMatchObject([{ message: expect.stringMatching('Leadtap answered 429') }]);
  clock.advance(60_000);
  await untilAnnounced(service, clock());
  expect(idsOf(source)).toEqual(ids);
});

it('a restart of the service keeps the subscription and its secret', async () => {
  const platform = await startAutomations();
  const source = await deploy(platform);
  const restarted = await platform.restart();
  source.connection = { ...source.connection, baseUrl: restarted.url };
  const ids = await addLeads(restarted, 2, 'lead');
  await untilAnnounced(restarted);
  expect(idsOf(source)).toEqual(ids);
});

it('continues with a new token after a revoked one, from its position', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const source = await deploy(platform);
  const [hook] = await hooksOf(service);
  await service.store.revokeToken(hook?.tokenId ?? '');
  const ids = await addLeads(service, 3, 'lead');
  await expect(source.run()).rejects.toThrow(/^Leadtap answered 401/);
  source.connection = await connectionOf(service);
  await source.deactivate();
  await source.activate();
  await untilAnnounced(service);
  await source.idle();
  expect(idsOf(source)).toEqual(ids);
});

it('has one subscription, however often it is activated and run, and none when it is deleted', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const source = await deploy(platform);
  await source.activate();
  await source.run();
  expect(await hooksOf(service)).toMatchObject([{ url: source.endpoint }]);
  await source.deactivate();
  expect(await hooksOf(service)).toEqual([]);
});

it('the timer subscribes again if the hook was removed', async () => {
  const platform = await startAutomations();
  const { service } = platform;
  const source = await deploy(platform);
  const [hook] = await hooksOf(service);
  await service.store.hooks.remove(hook?.id ?? '');
  await source.run();
  const ids = await addLeads(service, 2, 'lead');
  await untilAnnounced(service);
  expect(idsOf(source)).toEqual(ids);
});

it('a source that was deleted without a word is forgotten when its endpoint answers 410', async () => {
  const platform = await startAutomations();
  await deploy(platform, () => 410);
  await addLeads(platform.service, 1, 'lead');
  await vi.waitFor(async () => expect(await hooksOf(platform.service)).toEqual([]));
});

it('can be deleted while Leadtap is unreachable', async () => {
  const platform = await startAutomations();
  const source = await deploy(platform);
  await platform.service.stop();
  await source.deactivate();
  expect(source.db.get('hook')).toBeNull();
});

it('two sources of one user get every lead', async () => {
  const platform = await startAutomations();
  const sources = [await deploy(platform), await deploy(platform)];
  const ids = await addLeads(platform.service, 3, 'lead');
  await untilAnnounced(platform.service);
  expect(sources.map(idsOf)).toEqual([ids, ids]);
});

it.each([
  ['there are no subscriptions', { LEADTAP_HOOKS: 'off' }, /timer only.*404.*LEADTAP_HOOKS/],
  ['its host is not allowed', {}, /timer only.*422/],
])('if %s, it says so and the timer brings the leads', async (_name, env, message) => {
  const platform = await startAutomations({ env });
  const source = new PipedreamSource(await connectionOf(platform.service));
  await source.deploy();
  logged.length = 0;
  await source.activate();
  expect(logged).toMatchObject([expect.stringMatching(message)]);
  const ids = await addLeads(platform.service, 2, 'lead');
  await source.run();
  expect(idsOf(source)).toEqual(ids);
});
