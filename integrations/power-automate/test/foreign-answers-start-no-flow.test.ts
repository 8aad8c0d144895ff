import { expect, it } from 'vitest';
import { startService } from '../../../packages/server/test/harness/service.ts';
import { FOREIGN_ANSWERS, serveAnswer } from '../../../test/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../test/integrations/new-leads.ts';
import { definition, PollingTrigger, requiredField } from './power-automate.ts';

/** A connector without code does not see headers: a list of leads from another server passes, as the guide says. */
const looksLikeLeads = (body: string) => body.includes(`"${requiredField}"`);

it.each(FOREIGN_ANSWERS.filter(({ body }) => !looksLikeLeads(body)))(
  '$name runs no flow and leaves the position where it is',
  async (answer) => {
    const service = await startService();
    await addLeads(service, 1, 'before');
    const connection = await connectionOf(service);
    const trigger = new PollingTrigger(connection);
    await trigger.poll();
    const [id] = await addLeads(service, 1, 'new');
    const position = trigger.state;

    trigger.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    expect(await trigger.poll().catch(() => [])).toEqual([]);
    expect(trigger.state).toEqual(position);

    trigger.connection = connection;
    expect(await trigger.poll()).toMatchObject([{ id }]);
  },
);

it('the trigger condition of the guide asks for a field of the lead', () => {
  expect(Object.keys(definition.definitions.Lead.properties)).toContain(requiredField);
});
