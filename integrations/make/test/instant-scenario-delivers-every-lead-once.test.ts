// @nightly and after a change of integrations/make/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import { NEW_LEADS_PATH, RATE_LIMITS } from '@leadtap/contract';
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
import { InstantScenario } from './interpreter/instant-scenario.ts';

async function start(clock = manualClock()) {
  const platform = await startHookPlatform();
  const options = { clock, env: { LEADTAP_HOOK_HOSTS: platform.origin } };
  const service = await startService(options);
  await service.add({ id: 'before' });
  const subscribe = async () => {
    const delivered: string[] = [];
    const scenario: InstantScenario = new InstantScenario({
      connection: await connectionOf(service),
      url: platform.open((received) => scenario.receive(received)),
      process: (bundle) => delivered.push((bundle as { id: string }).id),
    });
    await scenario.attach();
    return { scenario, delivered, hookId: scenario.data['hookId'] ?? '' };
  };
  return { clock, platform, options, service, subscribe, ...(await subscribe()) };
}

const add = async (service: TestService, ...ids: readonly string[]): Promise<number> =>
  (await service.add(...ids.map((id) => ({ id })))).at(-1) ?? 0;

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `lead-${n}`);

it.each([1, 100, 330])('one event announces %i leads, and List Leads reads them in order', async (count) => {
  const { service, platform, hookId, delivered } = await start();
  await untilAnnounced(service, hookId, platform, await add(service, ...idsOf(count)));
  expect(delivered).toEqual(idsOf(count));
  expect(platform.events).toHaveLength(1);
});

it('a lead that arrives between the event and its run belongs to the next event', async () => {
  const { service, platform, hookId, delivered, clock } = await start();
  const counts: number[] = [];
  platform.fateOf = async (): Promise<EventFate> => {
    counts.push(delivered.length);
    // Late: the leads of the next event are there before this one is run.
    if (counts.length === 1) await add(service, ...idsOf(150).slice(120));
    return 'accepted';
  };
  const first = await add(service, ...idsOf(120).slice(0, 120));
  await untilAnnounced(service, hookId, platform, first);
  expect(delivered).toEqual(idsOf(120));
  // Between two events of a subscription is a second.
  clock.advance(1_000);
  await untilAnnounced(service, hookId, platform, first + 1);
  expect(delivered).toEqual(idsOf(150));
});

it.each<[EventFate, string]>([
  ['lost', 'whose connection ends'],
  [500, 'that is refused'],
  [429, 'that is limited'],
])('an event with the fate %s is sent again, together with later leads', async (fate) => {
  const { service, platform, hookId, delivered, clock } = await start();
  const arrived = new Promise<void>((resolve) => {
    platform.fateOf = () => {
      resolve();
      return fate;
    };
  });
  await add(service, 'lead-0');
  await arrived;
  platform.fateOf = () => 'accepted';
  const last = await add(service, 'lead-1');
  await untilAnnounced(service, hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(['lead-0', 'lead-1']);
});

it('Make cannot drop a doubled event: its leads are repeated, with the same Event ID', async () => {
  const { service, platform, hookId, delivered, clock } = await start();
  platform.fateOf = () => (platform.events.length === 1 ? 'response lost' : 'accepted');
  const last = await add(service, 'lead-0');
  await untilAnnounced(service, hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(['lead-0', 'lead-0']);
  expect(new Set(platform.events.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

it('a forged event brings no lead of its own: only what the token may read, in the window that it names', async () => {
  const { service, platform, scenario, delivered } = await start();
  await service.add({ id: 'other', companyId: 'globex' });
  const forge = (body: object) => fetch(scenario.url, { method: 'POST', body: JSON.stringify(body) });
  await forge({ type: 'something else', data: {} });
  const poll = `https://evil.example${NEW_LEADS_PATH}`;
  await forge({
    type: 'leads.available',
    data: {
      since: '1970-01-01T00:00:00.000Z',
      through: '1970-01-02T00:00:00.000Z',
      poll,
      leads: [{ id: 'x' }],
    },
  });
  await platform.idle();
  expect(delivered).toEqual([]);
  // A window of the past repeats leads of the past: the address is a secret.
  await forge({
    type: 'leads.available',
    data: { since: '1970-01-01T00:00:00.000Z', through: '2999-01-01T00:00:00.000Z' },
  });
  await platform.idle();
  expect(delivered).toEqual(['before']);
});

it('a window that cannot be read now is an incomplete execution, which Make retries', async () => {
  const { service, platform, hookId, scenario, delivered, clock } = await start();
  await leaveRequests(service, 'boss', 2);
  await untilAnnounced(service, hookId, platform, await add(service, ...idsOf(250)));
  expect(delivered).toEqual([]);
  expect(scenario).toMatchObject({ active: true, error: { type: 'RateLimitError' } });
  await scenario.retry();
  expect(scenario.incomplete).toHaveLength(1);
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  await scenario.retry();
  expect(delivered).toEqual(idsOf(250));
});

/** IML cannot check each element: the app checks the first, if it is not null. Its README says so. */
const UNSEEN = ['an array of null', 'a lead and something else'];

it.each(FOREIGN_ANSWERS.filter(({ name }) => !UNSEEN.includes(name)))(
  '$name instead of a page gives no bundle, and the window is read later',
  async (answer) => {
    const { service, platform, hookId, scenario, delivered } = await start();
    const { connection } = scenario;
    scenario.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    await untilAnnounced(service, hookId, platform, await add(service, 'lead-0'));
    expect(delivered).toEqual([]);
    expect(scenario.incomplete).toHaveLength(1);
    scenario.connection = connection;
    scenario.active = true;
    await scenario.retry();
    expect(delivered).toEqual(['lead-0']);
  },
);

it('a token that was revoked before its leads were read switches the scenario off, and says why', async () => {
  const { service, platform, hookId, scenario, delivered } = await start();
  platform.fateOf = async (): Promise<EventFate> => {
    await service.store.revokeToken((await service.store.hooks.find(hookId))?.tokenId ?? '');
    return 'accepted';
  };
  await add(service, 'lead-0');
  await vi.waitFor(() => expect(scenario.active).toBe(false));
  expect(scenario.error).toMatchObject({
    type: 'InvalidAccessTokenError',
    message: expect.stringMatching(/^\[401\] .*revoked/),
  });
  expect(delivered).toEqual([]);
});

it('leads of a service that was restarted before its event are announced by the new one', async () => {
  const { service, platform, hookId, scenario, delivered, clock, options } = await start();
  platform.fateOf = () => 'lost';
  const last = await add(service, ...idsOf(3));
  await service.stop();
  platform.fateOf = () => 'accepted';
  const restarted = await startService({ ...options, beside: service });
  scenario.connection = { ...scenario.connection, baseUrl: restarted.url };
  await untilAnnounced(restarted, hookId, platform, last, () => clock.advance(500));
  expect(delivered).toEqual(idsOf(3));
});

it('two scenarios of one user get every lead each', async () => {
  const { service, platform, subscribe, clock, ...first } = await start();
  const second = await subscribe();
  expect(second.hookId).not.toBe(first.hookId);
  const last = await add(service, ...idsOf(3));
  for (const { hookId } of [first, second]) await untilAnnounced(service, hookId, platform, last);
  expect([first.delivered, second.delivered]).toEqual([idsOf(3), idsOf(3)]);
  await first.scenario.detach();
  // Between two events of a subscription is a second.
  clock.advance(1_000);
  await untilAnnounced(service, second.hookId, platform, await add(service, 'lead-3'));
  expect([first.delivered, second.delivered]).toEqual([idsOf(3), idsOf(4)]);
});
