import { PROBLEMS } from '@leadtap/contract';
import type { IDataObject } from 'n8n-workflow';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../packages/server/test/faults/eventually.ts';
import { untilHeld } from '../../../packages/testing/harness/long-polls.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads } from '../../../packages/testing/integrations/new-leads.ts';
import { N8N_TIMING, type Timing } from '../node/nodes/Leadtap/follow.ts';
import { spacingMs } from '../node/nodes/Leadtap/spacing.ts';
import { type Fault, layFaultyRoad } from './fault-proxy.ts';
import { type InstantOptions, makeInstantWorkflow } from './instant-workflow.ts';

async function workflowOf(service: TestService, options: Partial<InstantOptions> = {}) {
  const executions: string[][] = [];
  const credential = { baseUrl: service.url, accessToken: await service.token('boss', { tokenId: 'mine' }) };
  const workflow = makeInstantWorkflow({
    credential,
    timing: ownTiming().timing,
    onLeads: (leads) => void executions.push(leads.map(({ id }) => String(id))),
    ...options,
  });
  onTestFinished(() => workflow.deactivate());
  return { workflow, executions };
}

/** Sleeps without waiting, in a clock of its own; gives the sleeps. */
function ownTiming() {
  const clock = manualClock();
  const sleeps: number[] = [];
  const sleep = async (ms: number) => {
    sleeps.push(ms);
    clock.advance(ms);
  };
  return { sleeps, clock, timing: { now: clock, sleep, random: () => 0.5 } };
}

describe('an active workflow', () => {
  it('runs as soon as a lead arrives, once for each', async () => {
    const service = await startService();
    await addLeads(service, 2, 'before');
    const { workflow, executions } = await workflowOf(service);
    await workflow.activate();
    for (const id of ['a', 'b', 'c']) {
      await untilHeld(service);
      await service.add({ id });
      await eventually(() => expect(executions.at(-1)).toEqual([id]));
    }
    expect(executions).toEqual([['a'], ['b'], ['c']]);
  });

  it('has a request held as soon as it is activated on an account without new leads', async () => {
    const service = await startService();
    const { sleeps, timing } = ownTiming();
    const { workflow, executions } = await workflowOf(service, { timing });
    await workflow.activate();
    await untilHeld(service);
    expect(sleeps).toEqual([]);
    await service.add({ id: 'first' });
    await eventually(() => expect(executions).toEqual([['first']]));
  });

  it('gets a backlog page by page', async () => {
    const service = await startService();
    const ids = await addLeads(service, 230, 'lead');
    const { workflow, executions } = await workflowOf(service, { parameters: { startFrom: 'everything' } });
    await workflow.activate();
    await eventually(() => expect(executions.flat()).toEqual(ids));
    expect(executions.map(({ length }) => length)).toEqual([100, 100, 30]);
  });

  it('closes its connection at once when it is deactivated', async () => {
    const service = await startService();
    const { workflow } = await workflowOf(service);
    await workflow.activate();
    await untilHeld(service);
    await workflow.deactivate();
    await untilHeld(service, 0);
    expect(workflow.failedExecutions).toEqual([]);
    expect(workflow.warnings).toEqual([]);
  });

  it('is deactivated at once while it pauses, with the timing of n8n', async () => {
    const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
    const credential = { baseUrl: service.url, accessToken: await service.token('boss') };
    let pauses = 0;
    const sleep: Timing['sleep'] = (ms, signal) => {
      pauses += 1;
      return N8N_TIMING.sleep(ms, signal);
    };
    const workflow = makeInstantWorkflow({ credential, timing: { ...N8N_TIMING, sleep } });
    await workflow.activate();
    // For 2 minutes, because the service does not wait.
    await eventually(() => expect(pauses).toBe(1));
    await workflow.deactivate();
    expect(workflow.failedExecutions).toEqual([]);
  });

  it('continues after a stop, and after a kill, where it was saved', async () => {
    const service = await startService();
    const { workflow, executions } = await workflowOf(service);
    await workflow.activate();
    await untilHeld(service);
    await service.add({ id: 'a' });
    await eventually(() => expect(executions).toEqual([['a']]));
    await workflow.deactivate();
    await service.add({ id: 'b' });
    await workflow.activate('init');
    await eventually(() => expect(executions).toEqual([['a'], ['b']]));
    workflow.kill();
    await service.add({ id: 'c' });
    await workflow.activate('init');
    await eventually(() => expect(executions).toEqual([['a'], ['b'], ['c']]));
  });

  it('takes a start date that is an expression when n8n starts', async () => {
    const service = await startService();
    const ids = await addLeads(service, 2, 'lead');
    const parameters = { startFrom: 'date', startDate: "={{ '2020-01-01' }}", simplify: '={{ true }}' };
    const { workflow, executions } = await workflowOf(service, { parameters });
    await workflow.activate('init');
    await eventually(() => expect(executions).toEqual([ids]));
    expect(workflow.warnings).toEqual([]);
  });

  it('polls a service that does not wait every 2 minutes', async () => {
    const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
    const { sleeps, timing } = ownTiming();
    const { workflow } = await workflowOf(service, { timing });
    await workflow.activate();
    await eventually(() => expect(sleeps.length).toBeGreaterThan(2));
    expect(new Set(sleeps)).toEqual(new Set([120_000]));
  });
});

describe('errors', () => {
  it('of the activation are shown to the person who activates the workflow', async () => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: 'made-up' };
    const { workflow } = await workflowOf(service, { credential });
    await expect(workflow.activate()).rejects.toThrow(PROBLEMS['token-invalid'].title);
  });

  it('at the start of n8n are retried until the service is back', async () => {
    const service = await startService();
    const ids = await addLeads(service, 3, 'lead');
    const road = await layFaultyRoad(service.url);
    road.faults = ['cut', 'unavailable', 'not ours', 'too many'];
    const credential = { baseUrl: road.url, accessToken: await service.token('boss') };
    const parameters = { startFrom: 'everything' };
    const { workflow, executions } = await workflowOf(service, { credential, parameters });
    await workflow.activate('init');
    await eventually(() => expect(executions).toEqual([ids]));
    expect(workflow.warnings).toHaveLength(4);
    // They are over before they are worth a failed execution.
    expect(workflow.failedExecutions).toEqual([]);
  });

  it('that a retry cannot fix are a failed execution at once, one until it works again', async () => {
    const service = await startService();
    const { sleeps, timing } = ownTiming();
    const { workflow, executions } = await workflowOf(service, { timing });
    await workflow.activate();
    await untilHeld(service);
    sleeps.length = 0;
    await service.store.revokeToken('mine');
    await eventually(() => expect(sleeps.length).toBeGreaterThan(9));
    await workflow.deactivate();
    expect(workflow.failedExecutions.map(({ message }) => message)).toEqual([
      PROBLEMS['token-revoked'].title,
    ]);
    expect(executions).toEqual([]);
    // Half of the longest pause: 1, 2, 4 seconds, and so on, at most a minute.
    expect(sleeps.slice(0, 9)).toEqual([0.5, 1, 2, 4, 8, 16, 30, 30, 30].map((s) => s * 1000));
  });

  it('that last are a failed execution in a sentence, and Retry-After is respected', async () => {
    const service = await startService();
    const road = await layFaultyRoad(service.url);
    const { sleeps, timing } = ownTiming();
    const credential = { baseUrl: road.url, accessToken: await service.token('boss') };
    const { workflow, executions } = await workflowOf(service, { timing, credential });
    await workflow.activate();
    await untilHeld(service);
    road.faults = Array<Fault>(10).fill('unavailable');
    sleeps.length = 0;
    await service.add({ id: 'a' });
    await eventually(() => expect(executions).toEqual([['a']]));
    await untilHeld(service);
    expect(workflow.failedExecutions).toHaveLength(1);
    expect(workflow.failedExecutions[0]?.message).toMatch(/\w/);
    expect(sleeps.filter((ms) => ms >= 5000).length).toBeGreaterThanOrEqual(10);
    await service.add({ id: 'b' });
    await eventually(() => expect(executions).toEqual([['a'], ['b']]));
  });
});

describe('an unexpected error', () => {
  it('of n8n while it starts a run is a failed execution at once, and the leads are passed on again', async () => {
    const service = await startService();
    let runs = 0;
    const passed: unknown[] = [];
    const onLeads = (leads: IDataObject[]) => {
      runs += 1;
      if (runs <= 3) throw new TypeError('resolveWorkflowData is not a function');
      passed.push(...leads.map(({ id }) => id));
    };
    const { sleeps, timing } = ownTiming();
    const { workflow } = await workflowOf(service, { timing, onLeads });
    await workflow.activate();
    await untilHeld(service);
    sleeps.length = 0;
    await service.add({ id: 'a' });
    await eventually(() => expect(passed).toEqual(['a']));
    expect(workflow.failedExecutions.map(({ message }) => message)).toEqual([
      'resolveWorkflowData is not a function',
    ]);
    expect(sleeps.slice(0, 3)).toEqual([500, 1000, 2000]);
    await untilHeld(service);
    await service.add({ id: 'b' });
    await eventually(() => expect(passed).toEqual(['a', 'b']));
  });

  it('of the pause is a failed execution, and n8n activates the workflow again', async () => {
    const service = await startService();
    const sleep = () => Promise.reject(new TypeError('sleep is not a function'));
    const timing = { ...ownTiming().timing, sleep };
    const { workflow } = await workflowOf(service, { timing });
    await workflow.activate();
    await service.add({ id: 'a' });
    await eventually(() => expect(workflow.emittedErrors).toHaveLength(1));
    expect(workflow.emittedErrors[0]?.message).toBe('sleep is not a function');
    expect(workflow.failedExecutions.length).toBeGreaterThan(0);
  });
});

describe('the pause between two requests', () => {
  it.each([
    ['"minute";r=99;t=60, "hour";r=999;t=3600', 3604],
    ['"minute";r=10;t=60, "hour";r=999;t=1800', 6000],
    ['"minute";r=0;t=12, "hour";r=500;t=10', 12_000],
    ['', 1000],
    ['nonsense', 1000],
  ])('makes the requests last: %s', (header, expected) => {
    expect(Math.round(spacingMs(header))).toBe(expected);
  });
});

describe('the editor', () => {
  it('shows the newest leads, and remembers nothing', async () => {
    const service = await startService();
    await addLeads(service, 5, 'lead');
    const { workflow } = await workflowOf(service);
    expect((await workflow.fetchTestEvent()).map(({ id }) => id)).toEqual(['lead-4', 'lead-3', 'lead-2']);
    expect(workflow.remembered).toEqual({});
  });

  it('shows a sample while there is no lead', async () => {
    const { workflow } = await workflowOf(await startService());
    expect((await workflow.fetchTestEvent()).map(({ id }) => id)).toEqual(['sample-lead']);
  });
});
