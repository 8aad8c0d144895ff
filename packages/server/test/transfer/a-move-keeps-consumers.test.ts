import { openPostgresStore } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { summary } from '../consumers/support/consumers.ts';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';
import { StoreProcess } from './store-process.ts';

const AT = Date.UTC(2026, 2, 2);

test('the positions of consumers are the same after a move', async () => {
  const endpoints = await makeFilledEndpoints();
  const source = new StoreProcess(endpoints.from);
  await source.recordConsumers([
    summary('boss', 'token-1', {
      ...{ tokenExpiresAt: AT + 9, heldUntil: AT + 8, confirmedThrough: AT - 7, deliveredThrough: AT - 6 },
    }),
    summary('boss', 'token-1', { lastPollAt: AT + 60_000, lastStatus: 304 }),
    summary('seller', null),
    summary('boss', 'forgotten', { confirmedThrough: AT - 7 }),
  ]);
  await source.forgetConsumer({ userId: 'boss', tokenId: 'forgotten' });
  const query = { limit: 10, maxPendingLeads: 10, now: AT };
  const before = await source.listConsumers(query);
  const ended = await source.listEndedConsumers(query);
  await source.close();
  expect([before.length, ended.length]).toEqual([2, 1]);

  expect(await runMove(endpoints)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('consumers 2, ended consumers 1'),
  });
  const target = await openPostgresStore({ url: endpoints.to, connections: 1 });
  onTestFinished(() => target.close());
  expect(await target.consumers.list(query)).toEqual(before);
  expect(await target.consumers.listEnded(query)).toEqual(ended);
});
