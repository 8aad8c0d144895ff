import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  type ForeignAnswer,
  startForeignProxy,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads } from '../../../packages/testing/integrations/new-leads.ts';
import { handledBy, runRecipe } from './http-request-recipe.ts';
import { makeWorkflow } from './workflow.ts';

async function start() {
  const service = await startService();
  const proxy = await startForeignProxy(service.url);
  return { service, proxy, baseUrl: proxy.url, token: await service.token('boss') };
}

const notLeadtap = (baseUrl: string) =>
  `${baseUrl} answered 200, but not with a list of leads of Leadtap: check the base`;
const idsOf = (leads: readonly object[]) => leads.map((lead) => (lead as { id: string }).id);

describe.each([...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS])('200 with $name', (foreign: ForeignAnswer) => {
  it('fails a poll of the node with a sentence, and the position stays', async () => {
    const { service, proxy, baseUrl, token } = await start();
    const workflow = makeWorkflow({ credential: { baseUrl, accessToken: token } });
    proxy.foreign = foreign;
    await expect(workflow.activate()).rejects.toThrow(notLeadtap(baseUrl));
    await expect(workflow.fetchTestEvent()).rejects.toThrow(notLeadtap(baseUrl));
    expect(workflow.remembered).toEqual({});
    proxy.foreign = undefined;
    await workflow.activate();
    const before = workflow.remembered;
    const ids = await addLeads(service, 110, 'lead');
    proxy.foreign = foreign;
    await expect(workflow.poll()).rejects.toThrow(notLeadtap(baseUrl));
    expect(workflow.remembered).toEqual(before);
    // In place of the second page it is left to the next poll, like every other failure there.
    proxy.passesBefore = 1;
    expect(idsOf(await workflow.poll())).toEqual(ids.slice(0, 100));
    proxy.foreign = undefined;
    expect(idsOf(await workflow.poll())).toEqual(ids.slice(100));
  });
});

/** This workflow takes its position from the last lead, not from `Link`. */
describe.each(FOREIGN_ANSWERS)('200 with $name', (foreign: ForeignAnswer) => {
  it('fails the workflow without the node before your nodes run, and the position stays', async () => {
    const { service, proxy, baseUrl, token } = await start();
    const connection = { baseUrl, token, startFrom: '2020-01-01T00:00:00Z' };
    const memory = {};
    const handled: string[] = [];
    const run = () =>
      runRecipe(
        connection,
        memory,
        handledBy((leads) => void handled.push(...idsOf(leads))),
      );
    const ids = await addLeads(service, 3, 'lead');
    await run();
    expect(handled).toEqual(ids);
    const before = { ...memory };
    for (const passesBefore of [0, 1]) {
      ids.push(...(await addLeads(service, passesBefore * 110, 'more')));
      Object.assign(proxy, { foreign, passesBefore });
      // A JSON string is refused by the HTTP Request node itself.
      await expect(run()).rejects.toThrow(
        /not with a list of leads of Leadtap: check the base|not valid JSON/,
      );
      expect(memory).toEqual(before);
    }
    proxy.foreign = undefined;
    await run();
    expect(handled).toEqual(ids);
  });
});
