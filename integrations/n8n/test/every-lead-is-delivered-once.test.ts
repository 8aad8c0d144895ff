import fc from 'fast-check';
import type { IDataObject } from 'n8n-workflow';
import { describe, expect, inject, it } from 'vitest';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { type Fault, type FaultyRoad, layFaultyRoad } from './fault-proxy.ts';
import { type ActiveWorkflow, makeWorkflow } from './workflow.ts';

/** A company of its own for each history, so that none meets the leads or the rate limit of another. */
async function makeCompany(service: TestService, id: string): Promise<string> {
  const place = { branchId: null, departmentId: null, accessLevel: 'COMPANY', plan: 'PROFESSIONAL' } as const;
  const users = [{ id: `user-of-${id}`, email: null, name: null, ...place }];
  await service.store.applyOrganisation({ companies: [{ id, name: id, branches: [], users }] });
  return service.token(`user-of-${id}`);
}

const bunch = (companyId: string, count: number) => Array.from({ length: count }, () => ({ companyId }));
const times = (leads: readonly IDataObject[]) => leads.map(({ createdAt }) => Date.parse(String(createdAt)));

type Step = { arrive: number } | { poll: Fault[] } | 'restart';

const fault = fc.constantFrom<Fault>(
  'none',
  'none',
  'cut',
  'answer lost',
  'too many',
  'unavailable',
  'not ours',
);
const history = fc.array(
  fc.oneof(
    fc.record({ arrive: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 95, max: 320 })) }),
    fc.record({ poll: fc.array(fault, { maxLength: 4 }) }),
    fc.constant<Step>('restart'),
  ),
  { maxLength: 14 },
);
const HISTORIES = { sqlite: 40, postgres: 10 };

/** One poll. One that fails hands on nothing, and n8n comes again. */
async function poll(workflow: ActiveWorkflow): Promise<number[]> {
  return workflow.poll().then(times, () => []);
}

/** Lets everything through and polls until nothing comes any more. */
async function drain(workflow: ActiveWorkflow, road: FaultyRoad): Promise<number[]> {
  road.faults = [];
  const leads: number[] = [];
  for (let more = await poll(workflow); more.length > 0; more = await poll(workflow)) leads.push(...more);
  return leads;
}

describe('an active workflow', () => {
  it('gets every lead once, oldest first, whatever fails in between', async () => {
    const service = await startService();
    const road = await layFaultyRoad(service.url);
    let companies = 0;
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        companies += 1;
        const companyId = `company-${companies}`;
        const accessToken = await makeCompany(service, companyId);
        const workflow = makeWorkflow({ credential: { baseUrl: road.url, accessToken } });
        await service.add(...bunch(companyId, 3));
        expect(await workflow.activate()).toEqual([]);
        const arrived: number[] = [];
        const handedOn: number[] = [];
        for (const step of steps) {
          if (step === 'restart') workflow.restart();
          else if ('arrive' in step) arrived.push(...(await service.add(...bunch(companyId, step.arrive))));
          else {
            road.faults = [...step.poll];
            handedOn.push(...(await poll(workflow)));
          }
        }
        handedOn.push(...(await drain(workflow, road)));
        expect(handedOn).toEqual(arrived);
      }),
      { numRuns: HISTORIES[inject('store')] },
    );
  });

  it('takes no more than 1,000 leads at once and leaves the rest to the next polls', async () => {
    const service = await startService();
    const road = await layFaultyRoad(service.url);
    const arrived = await service.add(...bunch('acme', 1250));
    const credential = { baseUrl: road.url, accessToken: await service.token('boss') };
    const workflow = makeWorkflow({ credential, parameters: { startFrom: 'everything' } });
    const first = times(await workflow.activate());
    expect(first).toHaveLength(1000);
    expect(road.requests).toBe(10);
    const second = times(await workflow.poll());
    expect([...first, ...second]).toEqual(arrived);
    expect(road.requests).toBe(13);
  });

  it('hands on the pages that came before a failure', async () => {
    const service = await startService();
    const road = await layFaultyRoad(service.url);
    const credential = { baseUrl: road.url, accessToken: await service.token('boss') };
    const workflow = makeWorkflow({ credential });
    await workflow.activate();
    const arrived = await service.add(...bunch('acme', 230));
    road.faults = ['none', 'none', 'too many'];
    expect(times(await workflow.poll())).toEqual(arrived.slice(0, 200));
    expect(times(await workflow.poll())).toEqual(arrived.slice(200));
  });
});
