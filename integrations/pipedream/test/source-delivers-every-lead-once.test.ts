import { RATE_LIMITS } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { component, PipedreamSource } from './pipedream.ts';

const idsOf = ({ emitted }: PipedreamSource): string[] => emitted.map(({ id }) => id);

it('keeps the token secret, and de-duplicates', () => {
  expect(component.props['token']).toMatchObject({ secret: true });
  expect(component.dedupe).toBe('unique');
});

it('shows the newest leads as samples, then takes a burst of one millisecond', async () => {
  const service = await startService({ clock: manualClock() });
  const before = await addLeads(service, 13, 'before');
  const source = new PipedreamSource(await connectionOf(service));
  await source.deploy();
  expect(idsOf(source)).toEqual(before.slice(-10));
  const ids = await addLeads(service, 330, 'burst');
  await source.run();
  await source.run();
  expect(idsOf(source)).toEqual([...before.slice(-10), ...ids]);
});

it('reads 2,000 leads in a run and the rest in the next one', async () => {
  const service = await startService();
  const source = new PipedreamSource(await connectionOf(service));
  await source.deploy();
  const ids = await addLeads(service, 2_030, 'lead');
  await source.run();
  expect(idsOf(source)).toEqual(ids.slice(0, 2_000));
  await source.run();
  expect(idsOf(source)).toEqual(ids);
});

it.each([0, 2])('a 429 after %i pages loses nothing and repeats nothing', async (pages) => {
  const clock = manualClock();
  const service = await startService({ clock });
  const source = new PipedreamSource(await connectionOf(service));
  await source.deploy();
  const ids = await addLeads(service, 330, 'lead');
  await leaveRequests(service, pages, 1);
  if (pages === 0) await expect(source.run()).rejects.toThrow('Leadtap answered 429: Wait for the seconds');
  else await source.run();
  expect(idsOf(source)).toEqual(ids.slice(0, pages * 100));
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  await source.run();
  expect(idsOf(source)).toEqual(ids);
});
