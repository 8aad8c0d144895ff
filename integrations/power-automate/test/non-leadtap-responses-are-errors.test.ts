import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  type ForeignAnswer,
  serveAnswer,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { definition, PollingTrigger, requiredFields } from './power-automate.ts';

const hasField = ({ body }: ForeignAnswer, name: string) => body.includes(`"${name}"`);

/** A connector without code sees neither headers nor the list as a whole: leads of another server pass, as the guide says. */
const NOT_LEADS = FOREIGN_ANSWERS.filter((answer) => !requiredFields.every((name) => hasField(answer, name)));

async function start() {
  const service = await startService();
  await addLeads(service, 1, 'before');
  const connection = await connectionOf(service);
  const trigger = new PollingTrigger(connection);
  await trigger.poll();
  return { service, connection, trigger };
}

it.each(NOT_LEADS)('$name runs no flow', async (answer) => {
  const { connection, trigger } = await start();
  trigger.connection = { ...connection, baseUrl: await serveAnswer(answer) };
  expect(await trigger.poll().catch(() => [])).toEqual([]);
});

it.each(NOT_LEADS.filter((answer) => !hasField(answer, 'createdAt')))(
  '$name leaves the position where it is',
  async (answer) => {
    const { service, connection, trigger } = await start();
    const [id] = await addLeads(service, 1, 'new');
    const position = trigger.state;

    trigger.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    await trigger.poll().catch(() => []);
    expect(trigger.state).toEqual(position);

    trigger.connection = connection;
    expect(await trigger.poll()).toMatchObject([{ id }]);
  },
);

it('the trigger condition of the guide requires the two fields that every lead has', () => {
  expect(requiredFields).toEqual(['automation_trigger_id', 'createdAt']);
  expect(Object.keys(definition.definitions.Lead.properties)).toEqual(expect.arrayContaining(requiredFields));
});
