import { RATE_LIMITS } from '@leadtap/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/server/test/harness/manual-clock.ts';
import { startService } from '../../../packages/server/test/harness/service.ts';
import { addLeads, connectionOf, leaveRequests, withCleanUps } from '../../../test/integrations/new-leads.ts';
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

it.each([
  ['starter', '', 'Leadtap answered 403: Polling new leads is part of the Professional plan.'],
  ['boss', '/docs?', 'This is not the answer of a Leadtap.'],
])('tells what is wrong: %s%s', async (userId, path, message) => {
  const service = await startService();
  const { baseUrl, token } = await connectionOf(service, userId);
  const source = new PipedreamSource({ baseUrl: baseUrl + path, token });
  await expect(source.deploy()).rejects.toThrow(message);
});

type Step = readonly ['add' | 'run' | 'restart', number];
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant('add' as const), fc.integer({ min: 1, max: 230 })),
  fc.tuple(fc.constantFrom('run' as const, 'restart' as const), fc.constant(0)),
);

it('delivers every lead once, in order, whatever is restarted in between', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), deliversAll), {
    numRuns: 8,
  });
});

const deliversAll = (steps: readonly Step[]): Promise<void> =>
  withCleanUps(async (whenDone) => {
    let service = await startService({ whenDone });
    const source = new PipedreamSource(await connectionOf(service));
    await source.deploy();
    const added: string[] = [];
    const actions: Record<Step[0], (count: number) => Promise<void>> = {
      add: async (count) => void added.push(...(await addLeads(service, count, `lead-${added.length}`))),
      run: () => source.run(),
      restart: async () => {
        await service.stop();
        await expect(source.run()).rejects.toThrow('fetch failed');
        service = await startService({ whenDone, beside: service });
        source.connection = await connectionOf(service);
      },
    };
    for (const [action, count] of steps) await actions[action](count);
    await source.run();
    expect(idsOf(source)).toEqual(added);
  });
