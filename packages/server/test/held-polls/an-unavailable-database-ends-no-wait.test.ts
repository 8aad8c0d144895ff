import { StoreUnavailableError } from 'leadtap';
import { expect, test } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { startService } from '../../../testing/harness/service.ts';
import { appliedOf, idsOf, startWaitingService, type WaitingService } from './support/held-polls-service.ts';

/** From now on the question fails. `hasFailed` resolves after some failures. */
function failDatabase({ store }: WaitingService, question: 'findUser' | 'readPage') {
  const hasFailed = deferred();
  let failures = 0;
  const recover = beforeQuestion(store, question, async () => {
    failures += 1;
    if (failures === 3) hasFailed.resolve();
    throw new StoreUnavailableError('the database is down');
  });
  return { recover, hasFailed: hasFailed.promise };
}

test('a lead that was committed during the outage ends the wait after it', async () => {
  const service = await startWaitingService();
  const other = await startService({ beside: service, organisation: { companies: [] } });
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  const { recover, hasFailed } = failDatabase(service, 'findUser');
  await hasFailed;
  await other.add({ id: 'meanwhile' });
  expect(service.waiting()).toBe(1);
  recover();
  expect(await idsOf(await answer)).toEqual(['meanwhile']);
});

test('a page that could not be read is read again, although its change was seen already', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  const { recover, hasFailed } = failDatabase(service, 'readPage');
  await service.add({ id: 'unread' });
  await hasFailed;
  expect(service.waiting()).toBe(1);
  recover();
  expect(await idsOf(await answer)).toEqual(['unread']);
});

test('a database that is still unavailable after N seconds is reported', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss', 'since=2026-01-01', { headers: { prefer: 'wait=1' } });
  await service.untilWaiting(1);
  failDatabase(service, 'findUser');
  await service.passTime(1000);
  const response = await answer;
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(appliedOf(response)).toBeNull();
});

test('an unexpected error ends the wait', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  beforeQuestion(service.store, 'readPage', async () => {
    throw new Error('a bug');
  });
  await service.add({});
  expect((await answer).status).toBe(500);
});
