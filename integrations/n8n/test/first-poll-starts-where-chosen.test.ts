import type { IDataObject, INodeParameters } from 'n8n-workflow';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { makeWorkflow } from './workflow.ts';

/** Far behind the clock of this process, which is n8n's clock here: a start time taken from n8n's clock would skip all leads. */
const CLOCK = '2020-03-02T09:30:00.000Z';

/** A service whose leads arrived at these times, before the workflow is activated. */
async function serviceWithLeads(...hours: number[]): Promise<TestService> {
  const clock = manualClock(CLOCK);
  const service = await startService({ clock });
  for (const [index, hour] of hours.entries()) {
    clock.advance((hour - (hours[index - 1] ?? 0)) * 3_600_000);
    await service.add({ id: `hour-${hour}` });
  }
  clock.advance(3_600_000);
  return service;
}

const workflowOf = async (service: TestService, parameters: INodeParameters, timezone = 'UTC') =>
  makeWorkflow({
    credential: { baseUrl: service.url, accessToken: await service.token('boss') },
    parameters,
    timezone,
  });

const ids = (leads: readonly IDataObject[]) => leads.map(({ id }) => id);

describe('the first poll starts', () => {
  it('now, by default: with the leads that arrive after it', async () => {
    const service = await serviceWithLeads(0, 1, 2);
    const workflow = await workflowOf(service, {});
    expect(await workflow.activate()).toEqual([]);
    await service.add({ id: 'new-1' }, { id: 'new-2' });
    expect(ids(await workflow.poll())).toEqual(['new-1', 'new-2']);
    expect(await workflow.poll()).toEqual([]);
  });

  it('now, while the account is empty: history that is imported later is not news', async () => {
    const service = await serviceWithLeads(0);
    await service.database.deleteLead('acme', 'hour-0');
    const workflow = await workflowOf(service, { startFrom: 'now' });
    expect(await workflow.activate()).toEqual([]);
    expect(Date.parse(String(workflow.remembered['since']))).toBe(Date.parse(CLOCK) + 1);
    await service.add({ id: 'new' });
    await service.store.writeLeads(
      [{ companyId: 'acme', id: 'old', createdAt: Date.parse('2019-01-01'), fields: {} }],
      { historical: true },
    );
    workflow.restart();
    expect(ids(await workflow.poll())).toEqual(['new']);
  });

  it('now, before the first lead of the company: a clock that is set back hides no lead', async () => {
    const clock = manualClock(CLOCK);
    const service = await startService({ clock });
    const workflow = await workflowOf(service, { startFrom: 'now' });
    expect(await workflow.activate()).toEqual([]);
    clock.advance(-3_600_000);
    await service.add({ id: 'new-1' }, { id: 'new-2' });
    workflow.restart();
    expect(ids(await workflow.poll())).toEqual(['new-1', 'new-2']);
  });

  it('with everything', async () => {
    const workflow = await workflowOf(await serviceWithLeads(0, 1, 2), { startFrom: 'everything' });
    expect(ids(await workflow.activate())).toEqual(['hour-0', 'hour-1', 'hour-2']);
    expect(await workflow.poll()).toEqual([]);
  });

  it.each([
    { startDate: '2020-03-02T10:00:00.000Z', timezone: 'UTC', why: 'a time in UTC' },
    { startDate: '2020-03-02T12:00:00+02:00', timezone: 'UTC', why: 'a time with an offset' },
    { startDate: '2020-03-02T11:00:00', timezone: 'Europe/Paris', why: 'a time in the zone of the workflow' },
    { startDate: '2020-03-02 05:00:00', timezone: 'America/New_York', why: 'a time with a space' },
    { startDate: '={{ "2020-03-02T10:00:00Z" }}', timezone: 'Europe/Paris', why: 'an expression' },
  ])('with a date: $why', async ({ startDate, timezone }) => {
    const service = await serviceWithLeads(0, 1, 2);
    const workflow = await workflowOf(service, { startFrom: 'date', startDate }, timezone);
    expect(ids(await workflow.activate())).toEqual(['hour-1', 'hour-2']);
  });

  it('nowhere, when the date is none: it says so and asks nothing', async () => {
    const workflow = await workflowOf(await serviceWithLeads(0), { startFrom: 'date', startDate: 'soon' });
    await expect(workflow.activate()).rejects.toMatchObject({
      message: 'The start date is not a date',
      description: expect.stringContaining('“soon”'),
    });
    expect(workflow.remembered).toEqual({});
  });
});

describe('later polls', () => {
  it('go on from the last lead when the workflow was off for a while', async () => {
    const service = await serviceWithLeads(0);
    const workflow = await workflowOf(service, {});
    await workflow.activate();
    await service.add({ id: 'while-off' });
    workflow.restart();
    expect(ids(await workflow.activate())).toEqual(['while-off']);
  });

  it('start over when another start is chosen', async () => {
    const service = await serviceWithLeads(0, 1, 2);
    const workflow = await workflowOf(service, {});
    await workflow.activate();
    workflow.change({ startFrom: 'date', startDate: '2020-03-02T11:00:00Z' });
    expect(ids(await workflow.activate())).toEqual(['hour-2']);
    workflow.change({ startFrom: 'date', startDate: '2020-03-02T10:00:00Z' });
    expect(ids(await workflow.activate())).toEqual(['hour-1', 'hour-2']);
    workflow.change({ startFrom: 'date', startDate: '2020-03-02T10:00:00Z', simplify: false });
    expect(await workflow.activate()).toEqual([]);
  });

  it('do not start over because an expression gives another date by now', async () => {
    const service = await serviceWithLeads(0);
    const startDate = '={{ $now.minus({ years: 50 }).plus({ milliseconds: Math.random() * 1000 }) }}';
    const workflow = await workflowOf(service, { startFrom: 'date', startDate });
    expect(ids(await workflow.activate())).toEqual(['hour-0']);
    expect(await workflow.poll()).toEqual([]);
  });
});
