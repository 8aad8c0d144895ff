import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { idsOf } from './delivered.ts';
import { listChoices, Scenario } from './interpreter/scenario.ts';

it('the panel lists the newest leads in one request, and a scenario starts after the one that was chosen', async () => {
  const service = await startService();
  const ids = await addLeads(service, 120, 'lead');
  const connection = await connectionOf(service);
  const choices = await listChoices(connection);
  expect(choices).toHaveLength(100);
  const newestFirst = choices.map(({ date }) => date);
  expect(newestFirst).toEqual(newestFirst.toSorted().reverse());
  expect(choices.every(({ label }) => label.length > 0)).toBe(true);

  const scenario = new Scenario({ connection, startAt: choices[9]?.date ?? '' });
  expect(idsOf(await scenario.run())).toEqual(ids.slice(-9));
});

it('there is nothing to choose from while there is no lead, and nothing fails', async () => {
  const service = await startService();
  expect(await listChoices(await connectionOf(service))).toEqual([]);
});

it('a trigger without a chosen start begins with the first lead', async () => {
  const service = await startService();
  const ids = await addLeads(service, 3, 'lead');
  const scenario = new Scenario({ connection: await connectionOf(service), startAt: '' });
  expect(idsOf(await scenario.run())).toEqual(ids);
});
