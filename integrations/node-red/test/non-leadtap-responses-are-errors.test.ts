import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  startForeignProxy,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads } from '../../../packages/testing/integrations/new-leads.ts';
import { NodeRed } from './node-red.ts';

const idsOf = (nodeRed: NodeRed) =>
  (nodeRed.shown.get('leadtap-lead') ?? []).map(({ payload }) => (payload as { id: string }).id);

it.each([...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS])(
  '200 with $name is a problem that a catch node gets, and the position stays',
  async (foreign) => {
    const service = await startService();
    const proxy = await startForeignProxy(service.url);
    const nodeRed = new NodeRed({ LEADTAP_URL: proxy.url, LEADTAP_TOKEN: await service.token('boss') });

    proxy.foreign = foreign;
    await nodeRed.inject();
    expect(nodeRed.context.has('leadtapSince')).toBe(false);
    proxy.foreign = undefined;
    await nodeRed.inject();
    const ids = await addLeads(service, 110, 'lead');
    // The second page of the burst is the foreign answer.
    proxy.foreign = foreign;
    proxy.passesBefore = 1;
    await nodeRed.inject();
    expect(idsOf(nodeRed)).toEqual(ids.slice(0, 100));
    const before = new Map(nodeRed.context);
    await nodeRed.inject();
    expect(nodeRed.context).toEqual(before);

    const payload = `${proxy.url}/automation/new-leads answered 200, but not with a list of leads of Leadtap: check LEADTAP_URL.`;
    const problem = { statusCode: 200, payload, error: { message: payload, source: { id: 'leadtap-take' } } };
    expect(nodeRed.shown.get('leadtap-problem')).toEqual([problem, problem, problem]);
    proxy.foreign = undefined;
    await nodeRed.inject();
    expect(idsOf(nodeRed)).toEqual(ids);
  },
);
