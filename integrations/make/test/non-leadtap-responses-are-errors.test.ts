import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  type ForeignAnswer,
  NOT_LEADTAP,
  serveAnswer,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { idsOf } from './delivered.ts';
import { listChoices, Scenario, testConnection } from './interpreter/scenario.ts';

/** Make itself refuses what is declared as JSON and does not parse, before the app sees it. */
const isUnparsable = ({ type, body }: ForeignAnswer) => type?.includes('json') && !/^["[{n]/.test(body);
const sentenceFor = (answer: ForeignAnswer) => (isUnparsable(answer) ? /not JSON/ : NOT_LEADTAP);

/** IML cannot check each element: the app checks the first, if it is not null. Its README says so. */
const UNSEEN = ['an array of null', 'a lead and something else'];

describe.each(FOREIGN_ANSWERS.filter(({ name }) => !UNSEEN.includes(name)))('$name', (answer) => {
  it('is no connection, and nothing to choose from', async () => {
    const connection = { baseUrl: await serveAnswer(answer), token: 'any' };
    await expect(testConnection(connection)).rejects.toThrow(sentenceFor(answer));
    await expect(listChoices(connection)).rejects.toThrow(sentenceFor(answer));
  });

  it('gives no bundle, leaves the position where it is, and the scenario on', async () => {
    const service = await startService();
    const ids = await addLeads(service, 2, 'lead');
    const connection = await connectionOf(service);
    const scenario = new Scenario({ connection, startAt: '1970-01-01' });
    const position = scenario.data;

    scenario.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    const run = await scenario.run(() => expect.unreachable('no bundle may be passed on'));
    expect(run).toMatchObject({ error: { message: expect.stringMatching(sentenceFor(answer)) } });
    expect([scenario.data, scenario.active]).toEqual([position, true]);

    scenario.connection = connection;
    expect(idsOf(await scenario.run())).toEqual(ids);
  });
});

it('a maintenance page of any length does not switch the scenario off', async () => {
  const baseUrl = await serveAnswer({ type: 'text/html', body: '<h1>Back soon</h1>' });
  const scenario = new Scenario({ connection: { baseUrl, token: 'any' }, startAt: '1970-01-01' });
  for (let runs = 0; runs < 5; runs += 1)
    expect(await scenario.run()).toMatchObject({ kind: 'delayed', error: { type: 'ConnectionError' } });
  expect(scenario.active).toBe(true);
});
