// @nightly and after a change of integrations/power-automate/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import { exampleHookEvent, HOOKS_PATH, NEW_LEADS_PATH, RATE_LIMITS } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { FOREIGN_ANSWERS, serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import {
  type EventFate,
  startHookPlatform,
  untilAnnounced,
} from '../../../packages/testing/integrations/hook-platform.ts';
import { connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { InstantFlow } from './instant-flow.ts';
import { definition, type ObjectSchema, operationOf, policiesOf } from './power-automate.ts';

async function start() {
  const clock = manualClock();
  const platform = await startHookPlatform();
  const options = { clock, env: { LEADTAP_HOOK_HOSTS: platform.origin } };
  const service = await startService(options);
  await service.add({ id: 'before' });
  const turnOn = async () => {
    const delivered: string[] = [];
    const connection = await connectionOf(service);
    const flow: InstantFlow = new InstantFlow({
      connection,
      url: platform.open((received) => flow.receive(received)),
      process: ({ id }) => delivered.push(id),
    });
    await flow.turnOn();
    return { flow, delivered };
  };
  const find = (flow: InstantFlow) => service.store.hooks.find(flow.hookId);
  return { clock, platform, options, service, turnOn, find, ...(await turnOn()) };
}

const add = async (service: TestService, ...ids: readonly string[]): Promise<number> =>
  (await service.add(...ids.map((id) => ({ id })))).at(-1) ?? 0;

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `lead-${n}`);

const fieldsOf = ({ properties }: Partial<ObjectSchema>): unknown =>
  properties &&
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, fieldsOf(field)]));

const fieldsOfValue = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fieldsOfValue(field)]))
    : undefined;

it('describes the event of the contract, and the operations that Power Automate needs for a webhook', () => {
  expect(fieldsOf(definition.definitions.LeadEvent)).toEqual(fieldsOfValue(exampleHookEvent));
  const trigger = operationOf('LeadsAvailable');
  expect(trigger).toMatchObject({
    method: 'post',
    path: HOOKS_PATH,
    'x-ms-trigger': 'single',
    notification: '#/definitions/LeadEvent',
    responses: { 201: { headers: { Location: { type: 'string' } } } },
  });
  expect(operationOf('Unsubscribe')).toMatchObject({ method: 'delete', 'x-ms-visibility': 'internal' });
  expect(operationOf('ListLeads')).toMatchObject({ method: 'get', path: NEW_LEADS_PATH });
  expect(policiesOf('ListLeads').map(({ templateId }) => templateId)).toEqual(['routerequesttoendpoint']);
});

it.each([1, 100, 330])('one event announces %i leads, and the flow lists them in order', async (count) => {
  const { service, platform, flow, delivered } = await start();
  await untilAnnounced(service, flow.hookId, platform, await add(service, ...idsOf(count)));
  expect(delivered).toEqual(idsOf(count));
  expect(platform.events).toHaveLength(1);
});

it('a lead that arrives between the event and its run belongs to the next event', async () => {
  const { service, platform, flow, delivered, clock } = await start();
  platform.fateOf = async (): Promise<EventFate> => {
    if (platform.events.length === 1) await add(service, 'lead-2');
    return 'accepted';
  };
  const first = await add(service, 'lead-0', 'lead-1');
  await untilAnnounced(service, flow.hookId, platform, first);
  expect(delivered).toEqual(['lead-0', 'lead-1']);
  // Between two events of a subscription is a second.
  clock.advance(1_000);
  await untilAnnounced(service, flow.hookId, platform, first + 1);
  expect(delivered).toEqual(['lead-0', 'lead-1', 'lead-2']);
});

it.each<EventFate>(['lost', 502, 429])('an event with the fate %s is sent again', async (fate) => {
  const { service, platform, flow, delivered, clock } = await start();
  platform.fateOf = () => (platform.events.length === 1 ? fate : 'accepted');
  const last = await add(service, ...idsOf(3));
  await untilAnnounced(service, flow.hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(idsOf(3));
});

it('a doubled event repeats its leads: a flow keeps no state', async () => {
  const { service, platform, flow, delivered, clock } = await start();
  platform.fateOf = () => (platform.events.length === 1 ? 'response lost' : 'accepted');
  const last = await add(service, 'lead-0');
  await untilAnnounced(service, flow.hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(['lead-0', 'lead-0']);
});

it('a forged event brings no lead of its own', async () => {
  const { service, platform, flow, delivered } = await start();
  await service.add({ id: 'other', companyId: 'globex' });
  const forge = (since: string, through: string) =>
    fetch(flow.url, {
      method: 'POST',
      body: JSON.stringify({ data: { since, through, leads: [{ id: 'x' }] } }),
    });
  await forge('1970-01-01T00:00:00.000Z', '1970-01-02T00:00:00.000Z');
  await platform.idle();
  expect(delivered).toEqual([]);
  // A window of the past repeats leads of the past: the address is a secret.
  await forge('1970-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z');
  await platform.idle();
  expect(delivered).toEqual(['before']);
});

it('a 429 between two pages waits in the retry policy, and continues where it was', async () => {
  const { service, platform, flow, delivered, clock } = await start();
  await leaveRequests(service, 'boss', 2);
  await untilAnnounced(service, flow.hookId, platform, await add(service, ...idsOf(250)));
  expect(delivered).toEqual(idsOf(200));
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  await flow.retry();
  expect(delivered).toEqual(idsOf(250));
});

it('leads of a service that was restarted before its event are announced by the new one', async () => {
  const { service, platform, flow, delivered, clock, options } = await start();
  platform.fateOf = () => 'lost';
  const last = await add(service, ...idsOf(3));
  await service.stop();
  platform.fateOf = () => 'accepted';
  const restarted = await startService({ ...options, beside: service });
  flow.connection = { ...flow.connection, baseUrl: restarted.url };
  await untilAnnounced(restarted, flow.hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(idsOf(3));
});

it('two flows of one user get every lead each, and switching one off leaves the other', async () => {
  const { service, platform, turnOn, find, clock, ...first } = await start();
  const second = await turnOn();
  const last = await add(service, ...idsOf(3));
  for (const { flow } of [first, second]) await untilAnnounced(service, flow.hookId, platform, last);
  expect([first.delivered, second.delivered]).toEqual([idsOf(3), idsOf(3)]);
  await first.flow.turnOff();
  expect(await find(first.flow)).toBeUndefined();
  clock.advance(1_000);
  await untilAnnounced(service, second.flow.hookId, platform, await add(service, 'lead-3'));
  expect([first.delivered, second.delivered]).toEqual([idsOf(3), idsOf(4)]);
});

it('saving a flow again keeps its one subscription', async () => {
  const { flow } = await start();
  const { location } = flow;
  await flow.turnOn();
  expect(flow.location).toBe(location);
});

it('a deleted flow whose unsubscribe never came answers 410: the subscription is deleted', async () => {
  const { service, platform, flow, find } = await start();
  platform.close(flow.url);
  await service.add({ id: 'lead' });
  await vi.waitFor(async () => expect(await find(flow)).toBeUndefined());
});

it('a revoked token gets no event', async () => {
  const { service, platform, turnOn, flow } = await start();
  const other = await turnOn();
  const tokenId = (await service.store.hooks.find(flow.hookId))?.tokenId ?? '';
  await service.store.revokeToken(tokenId);
  await untilAnnounced(service, other.flow.hookId, platform, await add(service, 'lead'));
  expect(platform.events.map(({ event }) => event.data.hookId)).toEqual([other.flow.hookId]);
});

/** The flow checks the header of a page, and drops elements that are not leads. */
it.each(FOREIGN_ANSWERS.filter(({ link }) => !link?.includes('next')))(
  '$name instead of a page fails the run before the steps',
  async (answer) => {
    const { service, platform, flow, delivered } = await start();
    flow.connection = { ...flow.connection, baseUrl: await serveAnswer(answer) };
    await untilAnnounced(service, flow.hookId, platform, await add(service, 'lead'));
    expect(delivered).toEqual([]);
    expect(flow.failed).toHaveLength(1);
  },
);
