import { type Lead, RATE_LIMITS } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { Flow } from './activepieces.ts';

const poll = async (flow: Flow): Promise<string[]> =>
  ((await flow.poll()) as unknown[]).map((lead) => (lead as Lead).id);

// The clock of the service stands months before that of the machine, which is the one that the helper looks at.
it('begins with what comes after it was switched on, whatever clock Activepieces has', async () => {
  const service = await startService({ clock: manualClock() });
  await addLeads(service, 3, 'before');
  const flow = new Flow(await connectionOf(service));
  await flow.enable();
  expect(await poll(flow)).toEqual([]);
  const ids = await addLeads(service, 330, 'burst');
  expect(await poll(flow)).toEqual(ids);
  expect(await poll(flow)).toEqual([]);
});

it('begins with the first lead of a company that had none', async () => {
  const service = await startService({ clock: manualClock() });
  const flow = new Flow(await connectionOf(service));
  await flow.enable();
  const ids = await addLeads(service, 2, 'first');
  expect(await poll(flow)).toEqual(ids);
});

it('begins where the user wants it to', async () => {
  const service = await startService();
  const ids = await addLeads(service, 105, 'old');
  const flow = new Flow(await connectionOf(service), '2020-01-01T00:00:00.000Z');
  await flow.enable();
  expect(await poll(flow)).toEqual(ids);
});

it('shows the newest leads as samples, and remembers nothing of them', async () => {
  const service = await startService();
  const ids = await addLeads(service, 7, 'lead');
  const flow = new Flow(await connectionOf(service));
  const sample: unknown[] = await flow.sample();
  expect(sample.map((lead) => (lead as Lead).id)).toEqual(ids.slice(-5).reverse());
  expect(flow.memory.size).toBe(0);
});

it('reads 2,000 leads in a poll and the rest in the next one', async () => {
  const service = await startService();
  const flow = new Flow(await connectionOf(service));
  await flow.enable();
  const ids = await addLeads(service, 2_030, 'lead');
  expect(await poll(flow)).toEqual(ids.slice(0, 2_000));
  expect(await poll(flow)).toEqual(ids.slice(2_000));
});

it.each([0, 1, 2])('a 429 after %i pages loses nothing and repeats nothing', async (pages) => {
  const clock = manualClock();
  const service = await startService({ clock });
  const flow = new Flow(await connectionOf(service));
  await flow.enable();
  const ids = await addLeads(service, 330, 'lead');
  await leaveRequests(service, pages, 1);
  const delivered: string[] = [];
  if (pages === 0) await expect(flow.poll()).rejects.toThrow(/429: .* passes in \d+ s; nothing is lost/);
  else delivered.push(...(await poll(flow)));
  expect(delivered).toEqual(ids.slice(0, pages * 100));
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  delivered.push(...(await poll(flow)));
  expect(delivered).toEqual(ids);
});
