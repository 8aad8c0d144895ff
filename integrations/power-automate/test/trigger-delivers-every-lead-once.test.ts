import { NEW_LEADS_PATH, RATE_LIMITS } from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { definition, operationOf, PollingTrigger, policiesOf } from './power-automate.ts';

const poll = async (trigger: PollingTrigger): Promise<string[]> =>
  (await trigger.poll()).map((lead) => (lead as Lead).id);

it('describes the lead of the contract, and the policy is of the operation', () => {
  expect(definition.swagger).toBe('2.0');
  expect(Object.keys(definition.definitions.Lead.properties)).toEqual(Object.keys(Lead.properties));
  expect(operationOf('NewLead')).toMatchObject({ path: NEW_LEADS_PATH, 'x-ms-trigger': 'batch' });
  expect(policiesOf('NewLead').map(({ templateId }) => templateId)).toEqual(['pollingtrigger']);
});

it('delivers a burst of one millisecond, a lead a poll, in order, whatever was changed since', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await addLeads(service, 3, 'before');
  const trigger = new PollingTrigger(await connectionOf(service));
  expect(await poll(trigger)).toEqual([]);
  const ids = await addLeads(service, 12, 'burst');
  clock.advance(1_000);
  await service.add({ id: 'burst-0', fields: { firstName: 'Ada' } });
  const delivered: string[] = [];
  for (let polls = 0; polls < 15; polls += 1) delivered.push(...(await poll(trigger)));
  expect(delivered).toEqual(ids);
});

it('loses nothing to a 429 or a restart', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await addLeads(service, 1, 'before');
  const trigger = new PollingTrigger(await connectionOf(service));
  await trigger.poll();
  const ids = await addLeads(service, 3, 'lead');
  const delivered = await poll(trigger);
  await leaveRequests(service, 0, 2);
  await expect(trigger.poll()).rejects.toThrow('429');
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  delivered.push(...(await poll(trigger)));
  await service.stop();
  await expect(trigger.poll()).rejects.toThrow();
  trigger.connection = await connectionOf(await startService({ clock, beside: service }));
  delivered.push(...(await poll(trigger)), ...(await poll(trigger)));
  expect(delivered).toEqual(ids);
});
