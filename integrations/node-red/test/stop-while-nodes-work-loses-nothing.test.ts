// @nightly and after a change of integrations/node-red/ packages/contract/src/ packages/server/src/hooks/ packages/server/src/poll/
import type { Lead } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../packages/server/test/faults/eventually.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { type Context, FLOW, INSTANT_FLOW, type Message, NodeRed } from './node-red.ts';

const FLOWS = [
  { name: 'the flow', flow: FLOW, prefix: 'leadtap', tickMs: 120_000 },
  { name: 'the instant flow', flow: INSTANT_FLOW, prefix: 'leadtap-instant', tickMs: 10_000 },
];

const TIMEOUT_MS = 120_000;

/** A Node-RED of which the nodes behind the trigger need as long as the test lets them, or answer at once; `undefined` drops the lead. */
async function startNodeRed(
  service: TestService,
  { flow, prefix }: (typeof FLOWS)[number],
  context: Context = new Map(),
  answers?: (id: string) => number | undefined,
) {
  const { baseUrl, token } = await connectionOf(service);
  const clock = manualClock();
  const started: string[] = [];
  const working: { readonly id: string; readonly end: (result?: Message | Error) => void }[] = [];
  const yourNodes = (message: Message) => {
    const { id } = message['payload'] as Lead;
    started.push(id);
    if (answers) {
      const statusCode = answers(id);
      return Promise.resolve(statusCode === undefined ? undefined : { ...message, statusCode });
    }
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
  const open = () => (nodeRed.context.get('leadtapOpen') ?? []) as readonly unknown[];
  return { nodeRed, started, done, inject, stop, clock, problems, aside, pauses, open };
}

it('both flows send the leads, and take them back, with the same code', () => {
  const codeOf = ({ flow, prefix }: (typeof FLOWS)[number]) =>
    flow
      .filter(({ id }) => [`${prefix}-send`, `${prefix}-done`].includes(id))
      .map(({ func, initialize }) => ({ func, initialize }));
  const [first, second] = FLOWS.map(codeOf);
  expect(first).toHaveLength(2);
  expect(first).toEqual(second);
});

it.each(FLOWS)('$name sends leads again that were with your nodes when Node-RED stopped', async (flow) => {
  const service = await startService();
  const ids = await addLeads(service, 100, 'lead');
  const first = await startNodeRed(service, flow);
  await eventually(() => expect(first.started).toEqual(ids));
  first.done(ids.slice(10, 30));
  await eventually(() => expect(first.open()).toHaveLength(80));
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

it.each(FLOWS)('$name requests more leads when your nodes have done half of them', async (flow) => {
  const service = await startService({ limits: { userPolicies: [] } });
  const ids = await addLeads(service, 400, 'lead');
  const { started, done, inject, clock, problems, open } = await startNodeRed(service, flow);
  await eventually(() => expect(started).toHaveLength(100));
  done(ids.slice(0, 49));
  await eventually(() => expect(open()).toHaveLength(51));
  expect(started).toHaveLength(100);
  done(ids.slice(49, 50));
  await eventually(() => expect(started).toEqual(ids.slice(0, 150)));
  // The time limit begins again with each lead that is done.
  clock.advance(TIMEOUT_MS - 1);
  done(ids.slice(50, 51));
  await eventually(() => expect(open()).toHaveLength(99));
  clock.advance(TIMEOUT_MS - 1);
  for (let tick = 0; tick < 300; tick += 1) {
    inject();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await eventually(() => expect(open()).toHaveLength(200));
  expect(started).toEqual(ids.slice(0, 251));
  expect(problems()).toEqual([]);
});

it.each(FLOWS)('$name sends a lead again that your nodes dropped, and says so', async (flow) => {
  const service = await startService();
  const ids = await addLeads(service, 3, 'lead');
  const { started, done, clock, inject, problems, open } = await startNodeRed(service, flow);
  await eventually(() => expect(started).toEqual(ids));
  done(['lead-0', 'lead-2']);
  await eventually(() => expect(open()).toHaveLength(1));
  clock.advance(TIMEOUT_MS);
  inject();
  await eventually(() => expect(started).toEqual([...ids, 'lead-1']));
  expect(problems()).toEqual([
    '1 leads failed (it did not reach the node "lead is done"). They are sent again.',
  ]);
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
  it.each(FLOWS)('is retried by $name after seconds, in order, beside new leads', async (flow) => {
    const service = await startService();
    const ids = await addLeads(service, 5, 'lead');
    const { started, done, inject, clock, problems, open } = await startNodeRed(service, flow);
    await eventually(() => expect(started).toEqual(ids));
    done(['lead-1', 'lead-3'], result);
    done(['lead-0', 'lead-2']);
    done(['lead-4'], { statusCode: 201 });
    await eventually(() => expect(open()).toHaveLength(2));
    await addLeads(service, 1, 'later');
    inject();
    await eventually(() => expect(started).toEqual([...ids, 'later-0']));
    clock.advance(5_999);
    inject();
    expect(problems()).toEqual([]);
    clock.advance(1);
    inject();
    await eventually(() => expect(started).toEqual([...ids, 'later-0', 'lead-1', 'lead-3']));
    expect(problems()).toEqual([`2 leads failed (${reason}). They are sent again.`]);
    done(['lead-1', 'lead-3', 'later-0']);
    await eventually(() => expect(open()).toEqual([]));
    clock.advance(TIMEOUT_MS);
    inject();
    expect(started).toHaveLength(8);
  });
});

describe.each(FLOWS)('$name', (flow) => {
  /** `answers` is what a CRM answers to each lead. */
  async function startWith(answers: (id: string) => number | undefined, count = 250) {
    const service = await startService({ limits: { userPolicies: [] } });
    const ids = await addLeads(service, count, 'lead');
    const nodeRed = await startNodeRed(service, flow, new Map(), answers);
    const tick = () => {
      nodeRed.clock.advance(flow.tickMs);
      nodeRed.inject();
    };
    /** Lets time pass, until the expectation holds. */
    const until = (expectation: () => void) =>
      eventually(() => {
        tick();
        expectation();
      });
    const countOf = (wanted: string) => nodeRed.started.filter((id) => id === wanted).length;
    return { service, ids, ...nodeRed, tick, until, countOf };
  }

  const numberOf = (id: string) => Number(id.replace('lead-', ''));

  it.each([
    { name: 'that always fail', answer: 422 },
    { name: 'that your nodes drop', answer: undefined },
  ])('leads $name, 1 in 100, delay no other', async ({ answer }) => {
    const isWrong = (id: string) => numberOf(id) % 100 === 50;
    const { ids, started } = await startWith((id) => (isWrong(id) ? answer : 200), 500);
    // Without a further poll of the schedule, and before a retry is due.
    await eventually(() => expect(started).toEqual(ids));
  });

  it('puts a lead aside that fails 5 times while others are done', async () => {
    const run = await startWith((id) => (id === 'lead-99' ? 422 : 200));
    await eventually(() => expect(run.started).toEqual(run.ids));
    // While nothing else is done, it may be an outage.
    await run.until(() => expect(run.countOf('lead-99')).toBeGreaterThan(8));
    for (let later = 0; later < 4; later += 1) {
      expect(run.aside()).toEqual([]);
      const [id = ''] = await addLeads(run.service, 1, `later-${later}`);
      await run.until(() => expect(run.started).toContain(id));
      const before = run.countOf('lead-99');
      if (later < 3) await run.until(() => expect(run.countOf('lead-99')).toBeGreaterThan(before));
    }
    await run.until(() => expect(run.aside()).toHaveLength(1));
    const error = { message: 'status 422' };
    expect(run.aside()).toMatchObject([{ topic: expect.any(String), payload: { id: 'lead-99' }, error }]);
    expect(run.open()).toEqual([]);
  });

  it('does all others and puts aside all that fail, if it is every second one', async () => {
    const run = await startWith((id) => (numberOf(id) % 2 ? 422 : 200), 500);
    await run.until(() => expect(new Set(run.started).size).toBe(500));
    for (let later = 0; run.open().length > 0; later += 1) {
      await addLeads(run.service, 1, `later-${later}`);
      run.tick();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const idsAside = run.aside().map(({ payload }) => (payload as Lead).id);
    expect(idsAside.sort()).toEqual(run.ids.filter((id) => numberOf(id) % 2).sort());
    expect(run.started.filter((id) => numberOf(id) % 2 === 0)).toHaveLength(250);
  });

  it('reads on after 200 leads in a row that always fail, and puts them aside', async () => {
    const run = await startWith((id) => (numberOf(id) < 200 ? 422 : 200), 210);
    run.nodeRed.env = { ...run.nodeRed.env, LEADTAP_ATTEMPTS: '2' };
    // Before a retry is due.
    await eventually(() => {
      run.inject();
      expect(run.open()).toHaveLength(200);
    });
    await run.until(() => expect(new Set(run.started).size).toBe(210));
    await run.until(() => expect(run.open()).toEqual([]));
    expect(run.aside()).toHaveLength(200);
  });

  it('puts no lead aside while your nodes fail for all, as in an outage', async () => {
    let isDown = true;
    const run = await startWith((id) => (isDown && numberOf(id) >= 50 ? 503 : 200), 500);
    await run.until(() => expect(run.countOf('lead-50')).toBeGreaterThan(8));
    // It reads no backlog that it could not hand on.
    expect(run.open().length).toBeLessThanOrEqual(200);
    isDown = false;
    const handled = run.started.length;
    await run.until(() => expect(new Set(run.started).size).toBe(500));
    await run.until(() => expect(run.open()).toEqual([]));
    expect(run.aside()).toEqual([]);
    expect(run.started.slice(0, 50)).toEqual(run.ids.slice(0, 50));
    expect(run.started.slice(handled).sort()).toEqual(run.ids.slice(50).sort());
  });

  it('a restart from any saved context loses no lead of a burst of which some fail', async () => {
    const saved: Context[] = [];
    const run = await startWith((id) => {
      saved.push(structuredClone(run.nodeRed.context));
      return numberOf(id) % 20 ? 200 : 503;
    }, 500);
    await eventually(() => expect(run.started).toHaveLength(500));
    await run.stop();
    for (const before of [1, 77, 150, 499]) {
      const context = saved[before] ?? new Map();
      const again = await startNodeRed(run.service, flow, context, () => 200);
      const handled = run.ids.filter((id, index) => index < before && numberOf(id) % 20);
      await eventually(() => {
        again.clock.advance(flow.tickMs);
        again.inject();
        expect(new Set([...handled, ...again.started])).toEqual(new Set(run.ids));
      });
      await again.stop();
    }
  });
});
