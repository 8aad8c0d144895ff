// @both-stores for each change
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { startService } from '../../../testing/harness/service.ts';
import { idsOf, startWaitingService } from './support/long-polls-service.ts';

test('a lead that another process imports ends the wait', async () => {
  const { wait, untilWaiting, database, folder } = await startWaitingService();
  const answer = wait('boss');
  await untilWaiting(1);
  const { child, ended } = spawnLeadtap(['leads', 'import', '-', '--format', 'ndjson'], database.env, folder);
  child.stdin.end('{"companyId":"acme","id":"imported","firstName":"Ada"}\n');
  expect(await ended).toMatchObject({ code: 0, stdout: '1 added, 0 updated, 0 rejected\n' });
  expect(await idsOf(await answer)).toEqual(['imported']);
});

test('a lead that another instance writes ends the waits at both', async () => {
  const first = await startWaitingService();
  const second = await startWaitingService({ beside: first, organisation: { companies: [] } });
  const answers = [first.wait('boss'), second.wait('boss'), second.wait('north-lead')];
  await Promise.all([first.untilWaiting(1), second.untilWaiting(2)]);
  await second.add({ id: 'shared', branchId: 'north' });
  for (const answer of answers) expect(await idsOf(await answer)).toEqual(['shared']);
});

test('a lead whose change an ordinary poll has read ends the wait', async () => {
  const service = await startWaitingService();
  const answer = service.wait('boss');
  await service.untilWaiting(1);
  const other = await startService({ beside: service, organisation: { companies: [] } });
  await other.add({ id: 'polled' });
  // Its revalidation takes the change from the log before the waiting polls read it.
  expect(await service.leads('boss')).toHaveLength(1);
  expect(await idsOf(await answer)).toEqual(['polled']);
});
