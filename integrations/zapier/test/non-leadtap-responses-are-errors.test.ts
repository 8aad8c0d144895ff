import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  NOT_LEADTAP,
  serveAnswer,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { testConnection } from '../src/authentication.ts';
import { customFields } from '../src/triggers/custom-fields.ts';
import { connect, failureOf, run } from './connection.ts';
import { ZapierPoller } from './zapier-poller.ts';

it.each(FOREIGN_ANSWERS)('$name is no connection and no page of leads', async (answer) => {
  const connection = { baseUrl: await serveAnswer(answer), token: 'any' };
  for (const part of [testConnection, customFields]) {
    const failure = await failureOf(run<unknown>(part, connection));
    expect(failure).toMatchObject({ name: 'AppError', code: 'no-leadtap', status: 200 });
    expect(failure.message).toMatch(NOT_LEADTAP);
  }
});

it.each(FOREIGN_ANSWERS)('$name starts no Zap, and the Zap continues afterwards', async (answer) => {
  const service = await startService();
  const connection = await connect(service);
  const zap = new ZapierPoller();
  await zap.turnOn(connection);
  await service.add({ id: 'meanwhile' });
  const foreign = { ...connection, baseUrl: await serveAnswer(answer) };
  expect((await failureOf(zap.poll(foreign))).message).toMatch(NOT_LEADTAP);
  expect(zap.runs).toEqual([]);
  await zap.poll(connection);
  await zap.poll(connection);
  expect(zap.runs.map(({ id }) => id)).toEqual(['meanwhile']);
});
