import type { Lead } from '@leadtap/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../packages/server/test/faults/eventually.ts';
import { untilHeld } from '../../../packages/testing/harness/long-polls.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  startForeignProxy,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { type Context, INSTANT_FLOW, NodeRed } from './node-red.ts';

/** The flow in a clock of its own, which a pause advances without waiting. */
async function startFlow(
  service: TestService,
  env: Record<string, string> = {},
  context: Context = new Map(),
) {
  const { baseUrl, token } = await connectionOf(service);
  const clock = manualClock();
  const pauses: number[] = [];
  const pause = async (ms: number) => {
    pauses.push(ms);
    clock.advance(ms);
    // Requests that fail at once must not take all of the processor.
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const settings = { LEADTAP_URL: baseUrl, LEADTAP_TOKEN: token, ...env };
  const nodeRed = new NodeRed(settings, { flow: INSTANT_FLOW, context, now: clock, pause });
  const ended: Promise<void>[] = [];
  const inject = () => void ended.push(nodeRed.inject());
  onTestFinished(async () => {
    nodeRed.stop();
    await Promise.all(ended);
    await nodeRed.ended();
  });
  inject();
  const shown = (id: string) => nodeRed.shown.get(`leadtap-instant-${id}`) ?? [];
  return {
    nodeRed,
    pauses,
    clock,
    inject,
    leads: () => shown('lead').map(({ payload }) => (payload as Lead).id),
    problems: () => shown('problem'),
  };
}

it('every wire leads to a node, and the token is not a part of the flow', () => {
  const ids = new Set(INSTANT_FLOW.map(({ id }) => id));
  const targets = INSTANT_FLOW.flatMap(({ wires = [] }) => wires.flat());
  expect(targets.length).toBeGreaterThan(5);
  expect(targets.filter((id) => !ids.has(id))).toEqual([]);
  const tab = INSTANT_FLOW.find(({ type }) => type === 'tab');
  expect(tab?.env).toContainEqual({ name: 'LEADTAP_TOKEN', type: 'cred', value: '' });
});

it('a lead is there as soon as it arrives, once', async () => {
  const service = await startService();
  await addLeads(service, 2, 'before');
  const flow = await startFlow(service);
  for (const id of ['a', 'b', 'c']) {
    await untilHeld(service);
    await service.add({ id });
    await eventually(() => expect(flow.leads().at(-1)).toBe(id));
  }
  expect(flow.leads()).toEqual(['a', 'b', 'c']);
  expect(flow.problems()).toEqual([]);
});

it('a backlog comes page by page from the configured time', async () => {
  const service = await startService();
  const ids = await addLeads(service, 230, 'old');
  const flow = await startFlow(service, { LEADTAP_SINCE: '2020-01-01' });
  await eventually(() => expect(flow.leads()).toEqual(ids));
  await untilHeld(service);
  // As the limits allow it: an hour for 1,000 requests.
  expect(Math.max(...flow.pauses)).toBeGreaterThan(3500);
  expect(Math.max(...flow.pauses)).toBeLessThan(3700);
});

it('the inject node starts no second request while one is held, and one when a round has stopped', async () => {
  const service = await startService();
  const flow = await startFlow(service);
  await untilHeld(service);
  flow.inject();
  flow.clock.advance(60_000);
  flow.inject();
  await untilHeld(service);
  // Longer than any request may take: Node-RED has lost it.
  flow.clock.advance(60_000);
  flow.inject();
  await untilHeld(service, 2);
  await service.add({ id: 'a' });
  await eventually(() => expect(flow.leads()).toEqual(['a']));
  await untilHeld(service);
  expect(flow.leads()).toEqual(['a']);
});

it('a restart continues after the last lead, if the context is kept', async () => {
  const service = await startService();
  const context: Context = new Map();
  const first = await startFlow(service, {}, context);
  await untilHeld(service);
  await service.add({ id: 'a' });
  await eventually(() => expect(first.leads()).toEqual(['a']));
  first.nodeRed.stop();
  await untilHeld(service, 0);
  await service.add({ id: 'b' });
  const second = await startFlow(service, {}, context);
  await eventually(() => expect(second.leads()).toEqual(['b']));
});

it('errors are shown, retried with growing pauses, and end when the service is back', async () => {
  const service = await startService();
  const flow = await startFlow(service);
  await untilHeld(service);
  flow.pauses.length = 0;
  await service.stop();
  await eventually(() => expect(flow.problems().length).toBeGreaterThan(8));
  expect(flow.problems()[0]).toMatchObject({ statusCode: 'ECONNREFUSED' });
  expect(Math.max(...flow.pauses)).toBeLessThanOrEqual(60_000);
  expect(Math.max(...flow.pauses)).toBeGreaterThan(1000);
  const again = await startService({ beside: service });
  await again.add({ id: 'a' });
  flow.nodeRed.env = { ...flow.nodeRed.env, LEADTAP_URL: again.url };
  await eventually(() => expect(flow.leads()).toEqual(['a']));
});

it('a service that does not wait is polled every 2 minutes', async () => {
  const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
  const flow = await startFlow(service);
  await eventually(() => expect(flow.pauses.length).toBeGreaterThan(3));
  expect(new Set(flow.pauses.slice(1))).toEqual(new Set([120_000]));
});

it.each([...FOREIGN_ANSWERS.slice(0, 3), ...UNDECODABLE_LINKS.slice(0, 1)])(
  '200 with $name is a problem, and the position stays',
  async (foreign) => {
    const service = await startService();
    const proxy = await startForeignProxy(service.url);
    proxy.foreign = foreign;
    const flow = await startFlow(service, { LEADTAP_URL: proxy.url, LEADTAP_SINCE: '2020-01-01' });
    await eventually(() => expect(flow.problems().length).toBeGreaterThan(2));
    expect(flow.nodeRed.context.has('leadtapSince')).toBe(false);
    const payload = `${proxy.url}/automation/new-leads answered 200, but not with a list of leads of Leadtap: check LEADTAP_URL.`;
    expect(flow.problems()[0]).toMatchObject({ statusCode: 200, payload });
    const ids = await addLeads(service, 2, 'lead');
    proxy.foreign = undefined;
    await eventually(() => expect(flow.leads()).toEqual(ids));
  },
);
