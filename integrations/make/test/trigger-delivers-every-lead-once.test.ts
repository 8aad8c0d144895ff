import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, withCleanUps } from '../../../packages/testing/integrations/new-leads.ts';
import { idsOf } from './delivered.ts';
import { Scenario } from './interpreter/scenario.ts';
import type { ReadsUntil } from './interpreter/trigger.ts';

const ALL = '1970-01-01';
const BOTH: readonly ReadsUntil[] = ['limit', 'end'];

describe.each(BOTH)('a trigger that reads pages until the %s', (readsUntil) => {
  it.each([100, 130, 1000])('delivers a burst of one millisecond, %i leads a run', async (limit) => {
    const service = await startService({ clock: manualClock() });
    const ids = await addLeads(service, 330, 'burst');
    const scenario = new Scenario({
      connection: await connectionOf(service),
      startAt: ALL,
      limit,
      readsUntil,
    });
    const runs: string[][] = [];
    do runs.push(idsOf(await scenario.run()));
    while (runs.at(-1)?.length);
    expect(runs.flat()).toEqual(ids);
    expect(runs.map((run) => run.length)).toEqual(
      Array.from({ length: Math.ceil(ids.length / limit) + 1 }, (_, index) =>
        Math.max(0, Math.min(limit, ids.length - index * limit)),
      ),
    );
  });

  it('goes on after a page of exactly a hundred', async () => {
    const service = await startService();
    const scenario = new Scenario({
      connection: await connectionOf(service),
      startAt: ALL,
      limit: 500,
      readsUntil,
    });
    const first = await addLeads(service, 100, 'first');
    expect(idsOf(await scenario.run())).toEqual(first);
    expect(idsOf(await scenario.run())).toEqual([]);
    const second = await addLeads(service, 101, 'second');
    expect(idsOf(await scenario.run())).toEqual(second);
  });
});

it('delivers every lead once, in order, whatever fails and restarts in between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), fc.constantFrom(...BOTH), deliversAll),
    { numRuns: 8, examples: [[UPDATED_BEFORE_IT_IS_READ, 'limit']] },
  );
});

/** The update is later than a lead that is not read yet. */
const UPDATED_BEFORE_IT_IS_READ: Step[] = [
  ['add', 2],
  ['update', 0],
  ['run', 1],
];

type Step = readonly ['add' | 'update' | 'run' | 'fail' | 'restart', number];

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant('add' as const), fc.integer({ min: 1, max: 230 })),
  fc.tuple(fc.constant('update' as const), fc.nat({ max: 500 })),
  fc.tuple(fc.constant('run' as const), fc.integer({ min: 1, max: 300 })),
  fc.tuple(fc.constant('fail' as const), fc.nat({ max: 120 })),
  fc.tuple(fc.constant('restart' as const), fc.constant(0)),
);

const deliversAll = (steps: readonly Step[], readsUntil: ReadsUntil): Promise<void> =>
  withCleanUps(async (whenDone) => {
    let service = await startService({ whenDone });
    const scenario = new Scenario({ connection: await connectionOf(service), startAt: ALL, readsUntil });
    const added: string[] = [];
    const delivered: string[] = [];
    const actions: Record<Step[0], (size: number) => Promise<void>> = {
      add: async (count) => void added.push(...(await addLeads(service, count, `lead-${added.length}`))),
      update: async (index) => {
        const id = added[index % added.length];
        if (id) await service.add({ id, fields: { firstName: 'Ada' } });
      },
      run: async (limit) => {
        scenario.limit = limit;
        delivered.push(...idsOf(await scenario.run()));
      },
      fail: async (after) => void delivered.push(...(await failsAfter(scenario, after))),
      restart: async () => {
        await service.stop();
        const away = await scenario.run();
        expect(away).toMatchObject({ kind: 'delayed', error: { type: 'ConnectionError' } });
        service = await startService({ whenDone, beside: service });
        scenario.connection = await connectionOf(service);
      },
    };
    for (const [action, size] of steps) await actions[action](size);
    await actions.run(3200);
    expect(delivered).toEqual(added);
    expect(scenario.active).toBe(true);
  });

class LaterModuleFailed extends Error {}

/** A run in which a later module fails after so many leads; if there are so many, Make rolls the run back. */
async function failsAfter(scenario: Scenario, after: number): Promise<string[]> {
  let left = after;
  const laterModule = () => {
    if (left === 0) throw new LaterModuleFailed();
    left -= 1;
  };
  try {
    return idsOf(await scenario.run(laterModule));
  } catch (error) {
    if (error instanceof LaterModuleFailed) return [];
    throw error;
  }
}
