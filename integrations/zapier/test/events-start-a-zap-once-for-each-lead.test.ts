// @nightly and after a change of integrations/zapier/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  NOT_LEADTAP,
  serveAnswer,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import {
  type ReceivedEvent,
  type Receiver,
  startReceiver,
} from '../../../packages/testing/integrations/hook-receiver.ts';
import { layRoad } from '../../../packages/testing/pollers/fault-proxy.ts';
import app from '../src/index.ts';
import { sampleLeads } from '../src/triggers/new-lead.ts';
import { receive, subscribe, unsubscribe } from '../src/triggers/new-lead-instant.ts';
import { addLeads } from './burst.ts';
import { type Connection, connect, failureOf, run } from './connection.ts';
import { bundleOf, InstantZap } from './instant-zap.ts';
import { recordRequests, type SentRequest } from './requests.ts';

const MINUTE_MS = 60_000;

interface World {
  readonly receiver: Receiver;
  readonly clock: ManualClock;
  readonly test: TestService;
  readonly connection: Connection;
}

async function startWorld(): Promise<World> {
  const receiver = await startReceiver();
  const clock = manualClock();
  const test = await startService({
    clock,
    env: { LEADTAP_HOOK_HOSTS: receiver.origin },
    recordFlushMs: 0,
  });
  return { receiver, clock, test, connection: await connect(test) };
}

async function startZap() {
  const world = await startWorld();
  return { ...world, zap: await InstantZap.turnOn(world.receiver, world.connection) };
}

/** Starts the service again, at the same address for the connection. */
const restart = (world: World): Promise<TestService> =>
  startService({
    clock: world.clock,
    beside: world.test,
    env: { LEADTAP_HOOK_HOSTS: world.receiver.origin, LEADTAP_PORT: new URL(world.test.url).port },
  });

const pollsIn = (requests: readonly SentRequest[]) =>
  requests.filter(({ url }) => url.startsWith(NEW_LEADS_PATH)).length;
const idsOf = ({ runs }: InstantZap) => runs.map(({ id }) => id);
const hookOf = ({ subscription }: InstantZap, { store }: TestService) => store.hooks.find(subscription.id);

/** The event is settled, so that the next one can follow a second later. */
const settled = (zap: InstantZap, test: TestService, lastStatus: number | null = 200) =>
  vi.waitFor(async () => {
    const hook = await hookOf(zap, test);
    expect(hook).toMatchObject({ lastStatus, failures: lastStatus === 200 ? 0 : 1 });
    // A claim ends later.
    if (lastStatus === 200) expect(hook?.notBefore).toBe((hook?.lastEventAt ?? 0) + 1000);
  });

/** The same for one of several events that are accepted. */
const announced = (zap: InstantZap, test: TestService, { event }: ReceivedEvent) => {
  const announcedThrough = Date.parse(event.data.through);
  return vi.waitFor(async () => expect(await hookOf(zap, test)).toMatchObject({ announcedThrough }));
};

/** A run of an event of the Zap over another connection. Its leads start nothing. */
const runApart = (zap: InstantZap, event: ReceivedEvent, clock: ManualClock, connection: Connection) =>
  run(
    (z, bundle) => receive(z, bundle, clock),
    connection,
    {},
    {
      ...bundleOf(event),
      subscribeData: zap.subscription,
    },
  );

describe('a Zap with the instant trigger', () => {
  it('runs for each lead that an event announces, oldest first, and for none from before', async () => {
    const { test, connection, receiver, clock } = await startWorld();
    await addLeads(test, 3, 'before');
    const requests = recordRequests(test);
    const zap = await InstantZap.turnOn(receiver, connection);
    const ids = await addLeads(test, 250, 'after');
    await receiver.event(1);
    expect(pollsIn(requests)).toBe(0);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids);
    expect(pollsIn(requests)).toBe(3);
    expect(zap.runs[0]).toEqual((await test.leads('boss', 'since=2020-01-01'))[3]);
  });

  it('runs by the definition of the app, with the clock of Zapier', async () => {
    const receiver = await startReceiver();
    const test = await startService({ env: { LEADTAP_HOOK_HOSTS: receiver.origin } });
    const zap = await InstantZap.turnOn(receiver, await connect(test));
    await test.add({ id: 'new' });
    const more = { ...bundleOf(await receiver.event(1)), subscribeData: zap.subscription };
    expect(await run(receive, zap.connection, {}, more)).toMatchObject([{ id: 'new' }]);
    expect(await run(sampleLeads, zap.connection)).toMatchObject([{ id: 'new' }]);
    expect(app.triggers.new_lead_instant.operation).toMatchObject({
      type: 'hook',
      performSubscribe: subscribe,
      performUnsubscribe: unsubscribe,
      perform: receive,
      performList: sampleLeads,
    });
  });

  it('gets an event again that it did not accept', async () => {
    const { zap, test, receiver, clock } = await startZap();
    const accept = receiver.respond;
    receiver.respond = (response) => void response.writeHead(500).end();
    await test.add({ id: 'a' });
    await receiver.event(1);
    receiver.respond = accept;
    await settled(zap, test, 500);
    clock.advance(6000);
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a']);
  });

  it('runs once for each lead of an event that is sent twice, also if the second one announces more', async () => {
    const { zap, test, receiver, clock } = await startZap();
    zap.losesResponses = true;
    await test.add({ id: 'a' });
    const first = await receiver.event(1);
    await zap.runAccepted(clock);
    zap.losesResponses = false;
    await settled(zap, test, null);
    await test.add({ id: 'b' });
    clock.advance(6000);
    await receiver.event(2);
    await zap.runAccepted(clock);
    await zap.runEvent(first, clock);
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it('starts nothing for an event that is run too late, and gets its leads with the next one', async () => {
    const { zap, test, receiver, clock } = await startZap();
    await test.add({ id: 'late' });
    const late = await receiver.event(1);
    zap.accepted.length = 0;
    await settled(zap, test);
    // Before the clock advances: otherwise the reminder, which is due after 2 minutes, may come first.
    await test.add({ id: 'next' });
    clock.advance(5 * MINUTE_MS + 1000);
    const failure = await failureOf(zap.runEvent(late, clock));
    expect(failure).toMatchObject({ name: 'AppError', code: 'event-refused' });
    expect(failure.message).toMatch(
      /sent 301 s ago; at most 300 s are allowed\. Its leads come with the next event/,
    );
    await announced(zap, test, await receiver.event(2));
    await zap.runAccepted(clock);
    await failureOf(zap.runEvent(late, clock));
    await test.add({ id: 'last' });
    clock.advance(2000);
    expect((await receiver.event(3)).event.data.since).toBe(zap.runs[1]?.createdAt);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['late', 'next', 'last']);
  });

  it('starts nothing for a forged event, and sends no request', async () => {
    const { test, receiver, clock, connection } = await startWorld();
    const requests = recordRequests(test);
    const zap = await InstantZap.turnOn(receiver, connection);
    const other = await InstantZap.turnOn(receiver, connection, '/other');
    await test.add({ id: 'a' });
    await receiver.event(2);
    const [event] = zap.accepted;
    const [foreign] = other.accepted;
    if (!event || !foreign) throw new Error('no event came');
    const { 'webhook-signature': _signature, ...unsigned } = event.headers;
    const forged = [
      { ...event, text: event.text.replace(/"since":"\d{4}/, '"since":"2020') },
      { ...event, headers: unsigned },
      { ...event, headers: { ...event.headers, 'webhook-signature': 'v1,' } },
      {
        ...event,
        headers: {
          ...event.headers,
          'webhook-signature': `${event.headers['webhook-signature']}`.replace('v1', 'v2'),
        },
      },
      {
        ...event,
        headers: {
          ...event.headers,
          'webhook-timestamp': `${Number(event.headers['webhook-timestamp']) + 60}`,
        },
      },
      { ...event, headers: { ...event.headers, 'webhook-id': 'msg_other' } },
      foreign,
    ];
    for (const attempt of forged) {
      const failure = await failureOf(zap.runEvent(attempt, clock));
      expect(failure).toMatchObject({ name: 'AppError', code: 'event-refused' });
      expect(failure.message).toMatch(/^An event was refused: Leadtap has not signed it for this Zap\./);
    }
    for (const subscribeData of [undefined, { id: 'x' }, { id: 'x', secret: 'whsec_' }]) {
      const more = { ...bundleOf(event), ...(subscribeData && { subscribeData }) };
      const failure = await failureOf(run((z, bundle) => receive(z, bundle, clock), connection, {}, more));
      expect(failure.message).toMatch(/has no secret to verify it\. Turn the Zap off and on again\./);
    }
    expect(pollsIn(requests)).toBe(0);
    await zap.runAccepted(clock);
    expect([idsOf(zap), pollsIn(requests)]).toEqual([['a'], 1]);
  });

  it('gets all leads once although the service is down when the event is run', async () => {
    const world = await startZap();
    const { zap, test, receiver, clock } = world;
    await test.add({ id: 'a' });
    await receiver.event(1);
    await settled(zap, test);
    await test.stop();
    expect(await failureOf(zap.runAccepted(clock))).toMatchObject({ code: 'unreachable' });
    const restarted = await restart(world);
    clock.advance(2000);
    await restarted.add({ id: 'b' });
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it('gets the event again after 2 minutes if its run has failed and no lead follows', async () => {
    const { zap, test, receiver, clock } = await startZap();
    await test.add({ id: 'a' });
    const event = await receiver.event(1);
    await settled(zap, test);
    await leaveRequests(test, 'boss', 0);
    const failure = await failureOf(zap.runAccepted(clock));
    expect(failure).toMatchObject({ name: 'ThrottledError' });
    expect(failure.message).toMatch(/The leads come with the next event\.$/);
    clock.advance(2 * MINUTE_MS);
    const reminder = await receiver.event(2);
    expect(reminder.headers['webhook-id']).toBe(event.headers['webhook-id']);
    await settled(zap, test);
    await zap.runAccepted(clock);
    // Nothing is left for the next event.
    clock.advance(2000);
    await test.add({ id: 'b' });
    await receiver.event(3);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it.each([
    { name: 'the first event', neverRun: [0] },
    { name: 'an event', neverRun: [2] },
    { name: 'all events but the last one', neverRun: [0, 1, 2, 3] },
    { name: 'all events', neverRun: [0, 1, 2, 3, 4] },
  ])('gets the leads of $name that it accepted and never ran', async ({ neverRun }) => {
    const { zap, test, receiver, clock } = await startZap();
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      ids.push(`lead-${number}`);
      await test.add({ id: `lead-${number}` });
      await announced(zap, test, await receiver.event(number + 1));
      if (neverRun.includes(number)) zap.accepted.length = 0;
      await zap.runAccepted(clock);
      clock.advance(2000);
    }
    if (neverRun.includes(4)) {
      clock.advance(2 * MINUTE_MS);
      await receiver.event(6);
      await zap.runAccepted(clock);
    }
    expect(idsOf(zap)).toEqual(ids);
  });

  it('returns only the leads that the event announces: the next one announces the others', async () => {
    const { zap, test, receiver, clock } = await startZap();
    await test.add({ id: 'a' });
    await receiver.event(1);
    await settled(zap, test);
    await test.add({ id: 'b' });
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a']);
    clock.advance(2000);
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it('returns nothing when Zapier runs failed events again whose leads the next one has brought', async () => {
    const { zap, test, receiver, clock } = await startZap();
    const failed: ReceivedEvent[] = [];
    for (const number of [1, 2]) {
      await test.add({ id: `failed-${number}` });
      const event = await receiver.event(number);
      failed.push(event);
      await announced(zap, test, event);
      await leaveRequests(test, 'boss', 0);
      expect(await failureOf(zap.runAccepted(clock))).toMatchObject({ name: 'ThrottledError' });
      clock.advance(2000);
    }
    clock.advance(MINUTE_MS);
    await test.add({ id: 'next' });
    await receiver.event(3);
    await zap.runAccepted(clock);
    for (const event of failed) await zap.runEvent(event, clock);
    expect(idsOf(zap)).toEqual(['failed-1', 'failed-2', 'next']);
  });

  it('returns what it has read if a later page is refused, and continues from there', async () => {
    const { zap, test, receiver, clock } = await startZap();
    const ids = await addLeads(test, 250, 'lead');
    await receiver.event(1);
    await settled(zap, test);
    await leaveRequests(test, 'boss', 2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids.slice(0, 200));
    clock.advance(2 * MINUTE_MS);
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids);
  });

  it('stops before its time is over, and continues with the next event', async () => {
    const { zap, test, receiver, clock } = await startZap();
    const ids = await addLeads(test, 1000, 'lead');
    await receiver.event(1);
    await settled(zap, test);
    let looks = 0;
    // Each look at the clock is six seconds later.
    await zap.runAccepted(() => clock() + 6000 * looks++);
    expect(idsOf(zap)).toEqual(ids.slice(0, 200));
    clock.advance(2 * MINUTE_MS);
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids);
  });

  it('gets the leads of a run that was killed with the next event', async () => {
    const { zap, test, receiver, clock, connection } = await startZap();
    const road = await layRoad(onTestFinished);
    road.target = test.url;
    road.fateOf = () => 'client disconnected';
    await test.add({ id: 'a' });
    const event = await receiver.event(1);
    zap.accepted.length = 0;
    await settled(zap, test);
    const arrived = new Promise<void>((resolve) => {
      road.beforeRequest = async () => resolve();
    });
    // It never ends: neither does it return, nor does it store anything.
    const killed = { ...connection, baseUrl: road.url };
    void runApart(zap, event, clock, killed).catch(() => undefined);
    await arrived;
    clock.advance(MINUTE_MS);
    await test.add({ id: 'b' });
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it('waits for the run before, and gets its leads too if it fails', async () => {
    const { zap, test, receiver, clock, connection } = await startZap();
    const road = await layRoad(onTestFinished);
    road.target = test.url;
    await test.add({ id: 'a' });
    const event = await receiver.event(1);
    zap.accepted.length = 0;
    await settled(zap, test);
    let fail = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      road.beforeRequest = () =>
        new Promise((_resolve, reject) => {
          fail = () => reject(new Error('the connection is cut'));
          resolve();
        });
    });
    const slow = { ...connection, baseUrl: road.url };
    const running = failureOf(runApart(zap, event, clock, slow));
    await arrived;
    clock.advance(2000);
    await test.add({ id: 'b' });
    await receiver.event(2);
    const next = zap.runAccepted(clock);
    fail();
    expect(await running).toMatchObject({ code: 'unreachable' });
    await next;
    expect(idsOf(zap)).toEqual(['a', 'b']);
  });

  it.each(FOREIGN_ANSWERS)(
    'starts nothing when $name answers, and gets the leads with the next event',
    async (answer) => {
      const { zap, test, receiver, clock, connection } = await startZap();
      await test.add({ id: 'a' });
      const event = await receiver.event(1);
      zap.accepted.length = 0;
      const foreign = { ...connection, baseUrl: await serveAnswer(answer) };
      expect((await failureOf(runApart(zap, event, clock, foreign))).message).toMatch(NOT_LEADTAP);
      await settled(zap, test);
      clock.advance(2000);
      await test.add({ id: 'b' });
      await receiver.event(2);
      await zap.runAccepted(clock);
      expect(idsOf(zap)).toEqual(['a', 'b']);
    },
  );

  it('shares a token with another Zap, and each runs once for each lead, also if a run of one of them fails', async () => {
    const { zap, test, receiver, clock, connection } = await startZap();
    const other = await InstantZap.turnOn(receiver, connection, '/other');
    await test.add({ id: 'a' });
    await receiver.event(2);
    await zap.runAccepted(clock);
    const [event] = other.accepted.splice(0);
    if (!event) throw new Error('no event came');
    const away = { ...connection, baseUrl: 'http://127.0.0.1:9' };
    expect(await failureOf(runApart(other, event, clock, away))).toMatchObject({ code: 'unreachable' });
    await settled(zap, test);
    await settled(other, test);
    // The service cannot tell the Zaps apart: there is no reminder, because one of them has polled.
    clock.advance(3 * MINUTE_MS);
    await test.add({ id: 'b' });
    await receiver.event(4);
    expect(receiver.events.map(({ event: { data } }) => data.through)).toHaveLength(4);
    await zap.runAccepted(clock);
    await other.runAccepted(clock);
    expect([idsOf(zap), idsOf(other)]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });
});

describe('without Zapier’s cache', () => {
  const unavailable = () => Promise.reject(new Error('the cache is unavailable'));
  const cache = { get: unavailable, set: unavailable, delete: unavailable };

  it('each event returns its own leads, a repeated one again', async () => {
    const { zap, test, receiver, clock } = await startZap();
    zap.cache = cache;
    await test.add({ id: 'a' });
    const event = await receiver.event(1);
    await zap.runAccepted(clock);
    await zap.runEvent(event, clock);
    expect(idsOf(zap)).toEqual(['a', 'a']);
  });

  it('a run returns what it has read if a later page is refused, and the reminder announces the rest', async () => {
    const { zap, test, receiver, clock } = await startZap();
    zap.cache = cache;
    const ids = await addLeads(test, 250, 'lead');
    await receiver.event(1);
    await settled(zap, test);
    await leaveRequests(test, 'boss', 2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids.slice(0, 200));
    clock.advance(2 * MINUTE_MS);
    await receiver.event(2);
    await zap.runAccepted(clock);
    expect(idsOf(zap)).toEqual(ids);
  });
});
