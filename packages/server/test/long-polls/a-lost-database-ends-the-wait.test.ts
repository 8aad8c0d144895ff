import { StoreUnavailableError } from 'leadtap';
import { expect, test } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { startService } from '../../../testing/harness/service.ts';
import { appliedOf, idsOf, startWaitingService, type WaitingService } from './support/long-polls-service.ts';

/** Calls back before each revalidation. `repeated` resolves when the third one begins, so that two have ended. */
function beforeRevalidations({ store }: WaitingService, before: () => void = () => undefined) {
  const repeated = deferred();
  let count = 0;
  const end = beforeQuestion(store, 'revalidate', async () => {
    count += 1;
    if (count === 3) repeated.resolve();
    before();
  });
  return { end, repeated: repeated.promise };
}

/** Resolves after some successful revalidations. Then the first checks of the long polls have ended. */
async function untilRevalidated(service: WaitingService): Promise<void> {
  const { end, repeated } = beforeRevalidations(service);
  await repeated;
  end();
}

/** Resolves after some failures. */
async function failDatabase(service: WaitingService): Promise<() => void> {
  await untilRevalidated(service);
  const { end, repeated } = beforeRevalidations(service, () => {
    throw new StoreUnavailableError('the database is down');
  });
  await repeated;
  return end;
}

test('a database that is lost for a second ends every wait with 503', async () => {
  const service = await startWaitingService();
  const answers = [service.wait('boss'), service.wait('rival')];
  await service.untilWaiting(2);
  const recover = await failDatabase(service);
  await service.passTime(999);
  expect(service.waiting()).toBe(2);
  await service.passTime(1);
  for (const response of await Promise.all(answers)) {
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(appliedOf(response)).toBeNull();
    expect(await response.json()).toMatchObject({ code: 'unavailable' });
  }
  expect(service.waiting()).toBe(0);
  recover();
});

test('a shorter outage ends no wait, and a lead that was committed during it does', async () => {
  const service = await startWaitingService();
  const other = await startService({ beside: service, organisation: { companies: [] } });
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  const recover = await failDatabase(service);
  await service.passTime(999);
  await other.add({ id: 'meanwhile' });
  recover();
  expect(await idsOf(await answer)).toEqual(['meanwhile']);
});

test('two short outages are not one long one', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  for (let outage = 0; outage < 2; outage += 1) {
    const recover = await failDatabase(service);
    await service.passTime(600);
    recover();
  }
  await untilRevalidated(service);
  expect(service.waiting()).toBe(1);
  await service.add({ id: 'later' });
  expect(await idsOf(await answer)).toEqual(['later']);
});

test('a wait whose page cannot be read ends with 503', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  beforeQuestion(service.store, 'readLeads', async () => {
    throw new StoreUnavailableError('the database is down');
  });
  await service.add({ id: 'unread' });
  expect((await answer).status).toBe(503);
});

test('an unexpected error ends the wait', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  beforeQuestion(service.store, 'readLeads', async () => {
    throw new Error('a bug');
  });
  await service.add({});
  expect((await answer).status).toBe(500);
});
