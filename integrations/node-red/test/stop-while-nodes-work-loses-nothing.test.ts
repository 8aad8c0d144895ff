import type { Lead } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../packages/server/test/faults/eventually.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { type Context, FLOW, INSTANT_FLOW, type Message, NodeRed } from './node-red.ts';

const FLOWS = [
  { name: 'the flow', flow: FLOW, prefix: 'leadtap' },
  { name: 'the instant flow', flow: INSTANT_FLOW, prefix: 'leadtap-instant' },
];

const TIMEOUT_MS = 120_000;

/** A Node-RED of which the nodes behind the trigger need as long as the test lets them. */
async function startNodeRed(
  service: TestService,
  { flow, prefix }: (typeof FLOWS)[number],
  context: Context = new Map(),
  answers?: (id: string) => number,
) {
  const { baseUrl, token } = await connectionOf(service);
  const clock = manualClock();
  const started: string[] = [];
  const working: { readonly id: string; readonly end: (result?: Message | Error) => void }[] = [];
  const yourNodes = (message: Message) => {
    const { id } = message['payload'] as Lead;
    started.push(id);
    if (answers) return Promise.resolve({ ...message, statusCode: answers(id) });
    return new Promise<Message | undefined>((resolve, reject) => {
      const end = (result?: Message | Error) =>
        result instanceof Error ? reject(result) : resolve(result && { ...message, ...result });
      working.push({ id, end });
    });
  };
  const env = { LEADTAP_URL: baseUrl, LEADTAP_TOKEN: token, LEADTAP_SINCE: '2020-01-01' };
  const pauses: number[] = [];
  const pause = async (ms: number) => void pauses.push(ms);
  const nodeRed = new NodeRed(env, { flow, context, now: clock, pause, yourNodes });
  const injected: Promise<void>[] = [];
  const inject = () => void injected.push(nodeRed.inject());
  const stop = async () => {
    nodeRed.stop();
    for (const { end } of working) end();
    await Promise.all(injected);
    await nodeRed.ended();
  };
  onTestFinished(stop);
  inject();
  /** Ends the oldest run of each. */
  const done = (ids: readonly string[], result: Message | Error = {}) => {
    for (const wanted of ids) {
      const [run] = working.splice(
        working.findIndex(({ id }) => id === wanted),
        1,
      );
      run?.end(result);
    }
  };
  const problems = () => (nodeRed.shown.get(`${prefix}-problem`) ?? []).map(({ payload }) => payload);
  const aside = () => nodeRed.shown.get(`${prefix}-aside`) ?? [];
  return { nodeRed, started, done, inject, stop, clock, problems, aside, pauses };
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
  nodeRed.clock.advance(TIMEOUT_MS - 1);
  nodeRed.inject();
  nodeRed.done(ids.slice(0, 99));
  await eventually(() => expect(nodeRed.nodeRed.context.get('leadtapDone')).toHaveLength(99));
  // The time limit begins again with each lead that is done.
  nodeRed.clock.advance(TIMEOUT_MS - 1);
  nodeRed.inject();
  expect(nodeRed.started).toHaveLength(100);
  nodeRed.done(ids.slice(99, 100));
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
  clock.advance(TIMEOUT_MS + 1);
  inject();
  await eventually(() => expect(started).toEqual([...ids, 'lead-1']));
  expect(problems()).toEqual(['1 of 3 leads did not reach the node "lead is done". They are sent again.']);
  done(['lead-1']);
  await addLeads(service, 1, 'later');
  inject();
  await eventually(() => expect(started.at(-1)).toBe('later-0'));
});

describe.each([
  { name: 'an unreachable CRM', result: { statusCode: 'ECONNREFUSED' }, reason: 'status ECONNREFUSED' },
  { name: 'a refusal of the CRM', result: { statusCode: 503 }, reason: 'status 503' },
  { name: 'a node that fails', result: new Error('no such field'), reason: 'Error: no such field' },
])('$name', ({ result, reason }) => {
  it.each(FLOWS)('is retried by $name within a minute or by the next poll, in order', async (flow) => {
    const service = await startService();
    const ids = await addLeads(service, 5, 'lead');
    const { nodeRed, started, done, inject, problems, pauses } = await startNodeRed(service, flow);
    await eventually(() => expect(started).toEqual(ids));
    done(['lead-1', 'lead-3'], result);
    done(['lead-0', 'lead-2']);
    pauses.length = 0;
    await addLeads(service, 1, 'later');
    expect(nodeRed.context.get('leadtapSince')).toBeUndefined();
    done(['lead-4'], { statusCode: 201 });
    await eventually(() =>
      expect(problems()).toEqual([`2 of 5 leads failed (${reason}). They are sent again.`]),
    );
    expect(pauses.filter((ms) => ms > 60_000 || ms < 1000)).toEqual([]);
    inject();
    await eventually(() => expect(started).toEqual([...ids, 'lead-1', 'lead-3', 'later-0']));
    done(['lead-1', 'lead-3', 'later-0']);
    await eventually(() => expect(nodeRed.context.get('leadtapDone')).toBeUndefined());
    await addLeads(service, 1, 'last');
    inject();
    await eventually(() => expect(started.at(-1)).toBe('last-0'));
    expect(problems()).toHaveLength(1);
  });
});

describe.each(FLOWS)('$name', (flow) => {
  /** `answers` is what a CRM answers to each lead. */
  async function startWith(answers: (id: string) => number) {
    const service = await startService({ limits: { userPolicies: [] } });
    const ids = await addLeads(service, 250, 'lead');
    const nodeRed = await startNodeRed(service, flow, new Map(), answers);
    /** Sends the next polls, until the expectation holds. */
    const until = (expectation: () => void) =>
      eventually(() => {
        nodeRed.inject();
        expectation();
      });
    const countOf = (wanted: string) => nodeRed.started.filter((id) => id === wanted).length;
    return { service, ids, ...nodeRed, until, countOf };
  }

  it.each(['lead-0', 'lead-99', 'lead-120'])(
    'puts %s aside, which always fails, and the rest goes on',
    async (wrong) => {
      const run = await startWith((id) => (id === wrong ? 422 : 200));
      await run.until(() => expect(run.started).toContain('lead-249'));
      await run.until(() => expect(run.aside()).toHaveLength(1));
      const error = { message: 'status 422' };
      expect(run.aside()).toMatchObject([{ topic: expect.any(String), payload: { id: wrong }, error }]);
      await addLeads(run.service, 1, 'later');
      await run.until(() => expect(run.started.at(-1)).toBe('later-0'));
      expect(run.countOf(wrong)).toBe(5);
      expect(run.started.filter((id) => id !== wrong)).toEqual([
        ...run.ids.filter((id) => id !== wrong),
        'later-0',
      ]);
    },
  );

  it('puts no lead aside while your nodes fail for all, as in an outage', async () => {
    let isDown = true;
    const run = await startWith((id) => (isDown && Number(id.replace('lead-', '')) >= 50 ? 503 : 200));
    await run.until(() => expect(run.countOf('lead-50')).toBeGreaterThan(8));
    isDown = false;
    const handled = run.started.length;
    await run.until(() => expect(run.started.at(-1)).toBe('lead-249'));
    expect(run.aside()).toEqual([]);
    expect(run.started.slice(0, 50)).toEqual(run.ids.slice(0, 50));
    expect(new Set(run.started.slice(handled))).toEqual(new Set(run.ids.slice(50)));
  });
});
