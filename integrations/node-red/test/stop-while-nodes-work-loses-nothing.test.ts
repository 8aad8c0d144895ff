import type { Lead } from '@leadtap/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../packages/server/test/faults/eventually.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { type Context, FLOW, INSTANT_FLOW, type Message, NodeRed } from './node-red.ts';

const FLOWS = [
  { name: 'the flow', flow: FLOW, problem: 'leadtap-problem' },
  { name: 'the instant flow', flow: INSTANT_FLOW, problem: 'leadtap-instant-problem' },
];

/** A Node-RED of which the nodes behind the trigger need as long as the test lets them. */
async function startNodeRed(
  service: TestService,
  { flow, problem }: (typeof FLOWS)[number],
  context: Context = new Map(),
) {
  const { baseUrl, token } = await connectionOf(service);
  const clock = manualClock();
  const started: string[] = [];
  const working: { readonly id: string; readonly end: (isDone: boolean) => void }[] = [];
  const yourNodes = ({ payload }: Message) => {
    const { id } = payload as Lead;
    started.push(id);
    return new Promise<boolean>((end) => void working.push({ id, end }));
  };
  const env = { LEADTAP_URL: baseUrl, LEADTAP_TOKEN: token, LEADTAP_SINCE: '2020-01-01' };
  const pause = async () => undefined;
  const nodeRed = new NodeRed(env, { flow, context, now: clock, pause, yourNodes });
  const injected: Promise<void>[] = [];
  const inject = () => void injected.push(nodeRed.inject());
  const stop = async () => {
    nodeRed.stop();
    for (const { end } of working) end(false);
    await Promise.all(injected);
    await nodeRed.ended();
  };
  onTestFinished(stop);
  inject();
  const done = (ids: readonly string[]) => {
    for (const { id, end } of working) if (ids.includes(id)) end(true);
  };
  const problems = () => (nodeRed.shown.get(problem) ?? []).map(({ payload }) => payload);
  return { nodeRed, started, done, inject, stop, clock, problems };
}

it.each(FLOWS)('$name sends leads again that were with your nodes when Node-RED stopped', async (flow) => {
  const service = await startService();
  const ids = await addLeads(service, 100, 'lead');
  const first = await startNodeRed(service, flow);
  await eventually(() => expect(first.started).toEqual(ids));
  first.done(ids.slice(10, 30));
  await eventually(() => expect(first.nodeRed.context.get('leadtapDone')).toHaveLength(20));
  // A normal stop writes the context to its file.
  await first.stop();
  const second = await startNodeRed(service, flow, new Map(first.nodeRed.context));
  const again = ids.filter((id) => !ids.slice(10, 30).includes(id));
  await eventually(() => expect(second.started).toEqual(again));
  second.done(again);
  await addLeads(service, 1, 'later');
  second.inject();
  await eventually(() => expect(second.started.slice(80)).toEqual(['later-0']));
});

it.each(FLOWS)('$name requests no page while leads are with your nodes', async (flow) => {
  const service = await startService();
  const ids = await addLeads(service, 101, 'lead');
  const nodeRed = await startNodeRed(service, flow);
  await eventually(() => expect(nodeRed.started).toHaveLength(100));
  nodeRed.clock.advance(9 * 60_000);
  nodeRed.inject();
  nodeRed.done(ids.slice(0, 99));
  await eventually(() => expect(nodeRed.nodeRed.context.get('leadtapDone')).toHaveLength(99));
  expect(nodeRed.started).toHaveLength(100);
  nodeRed.done(ids);
  await eventually(() => expect(nodeRed.started).toEqual(ids));
  expect(nodeRed.problems()).toEqual([]);
});

it.each(FLOWS)('$name sends a lead again that your nodes dropped, and says so', async (flow) => {
  const service = await startService();
  const ids = await addLeads(service, 3, 'lead');
  const { nodeRed, started, done, clock, inject, problems } = await startNodeRed(service, flow);
  await eventually(() => expect(started).toEqual(ids));
  done(['lead-0', 'lead-2']);
  await eventually(() => expect(nodeRed.context.get('leadtapDone')).toHaveLength(2));
  clock.advance(10 * 60_000 + 1);
  inject();
  await eventually(() => expect(started).toEqual([...ids, 'lead-1']));
  expect(problems()).toEqual([
    '1 of 3 leads did not reach the node "lead is done" within 10 minutes. They are sent again.',
  ]);
  done(['lead-1']);
  await addLeads(service, 1, 'later');
  inject();
  await eventually(() => expect(started.at(-1)).toBe('later-0'));
});
