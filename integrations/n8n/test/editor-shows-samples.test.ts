import { sampleLead } from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import type { INodeParameters } from 'n8n-workflow';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { makeWorkflow } from './workflow.ts';

const workflowOf = async (service: TestService, parameters: INodeParameters = {}) =>
  makeWorkflow({
    credential: { baseUrl: service.url, accessToken: await service.token('boss') },
    parameters,
  });

describe('the editor shows', () => {
  it('the newest leads, whatever start is chosen', async () => {
    const service = await startService();
    await service.add({ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' });
    for (const startFrom of ['now', 'everything']) {
      const workflow = await workflowOf(service, { startFrom });
      expect((await workflow.fetchTestEvent()).map(({ id }) => id)).toEqual(['d', 'c', 'b']);
    }
  });

  it('a sample that looks like a lead while the account is empty', async () => {
    const workflow = await workflowOf(await startService(), { simplify: false });
    const [sample, ...others] = await workflow.fetchTestEvent();
    expect(others).toEqual([]);
    expect(Object.keys(sample ?? {})).toEqual(Object.keys(sampleLead));
    expect(Value.Check(Lead, sample)).toBe(true);
    expect(sample?.['fullName']).toContain('sample');
  });

  it('nothing that the active workflow then lacks', async () => {
    const service = await startService();
    const workflow = await workflowOf(service);
    await workflow.activate();
    await service.add({ id: 'new' });
    const before = workflow.remembered;
    await workflow.fetchTestEvent();
    expect(workflow.remembered).toEqual(before);
    expect((await workflow.poll()).map(({ id }) => id)).toEqual(['new']);
  });
});

describe('a lead', () => {
  const fields = { firstName: 'Ada', customFields: { source: 'website' } };

  it('has what most need when it is simplified, under the same names', async () => {
    const service = await startService();
    await service.add({ fields });
    const [whole = {}] = await (await workflowOf(service, { simplify: false })).fetchTestEvent();
    const [simple = {}] = await (await workflowOf(service)).fetchTestEvent();
    expect(Value.Check(Lead, whole)).toBe(true);
    expect(simple).toMatchObject(fields);
    // By it a workflow drops a lead that comes twice.
    expect(simple['automation_trigger_id']).toBe(whole['automation_trigger_id']);
    expect(Object.keys(simple).length).toBeLessThan(Object.keys(whole).length);
    expect(whole).toMatchObject(simple);
  });

  it('is simplified in the active workflow as in the editor', async () => {
    const service = await startService();
    await service.add({ fields });
    for (const simplify of [true, false]) {
      const workflow = await workflowOf(service, { startFrom: 'everything', simplify });
      expect(await workflow.activate()).toEqual(await workflow.fetchTestEvent());
    }
  });
});
