import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withCleanUps } from '../../packages/testing/integrations/new-leads.ts';
import { OUR_POLLERS } from '../../packages/testing/pollers/every-poller.ts';
import type { MakePoller } from '../../packages/testing/pollers/poller.ts';
import { World } from '../../packages/testing/pollers/world.ts';
import { ALL_WELL } from '../../tools/generate/poller-outcomes.ts';

/** What may happen at a poll, between two others. */
const HAPPENINGS = {
  nothing: (world: World) => world.poll(),
  'the poll is refused': async (world: World) => {
    world.goToNextPoll();
    await world.leaveRequests(0);
    await world.pollInVain();
  },
  'a later page is refused': async (world: World) => {
    world.goToNextPoll();
    await world.leaveRequests(1);
    await world.pollInVain();
  },
  'the service is away': async (world: World) => {
    await world.stopService();
    world.goToNextPoll();
    await world.pollInVain();
    await world.startService();
  },
  'the answer is lost': async (world: World) => {
    world.road.fateOf = () => 'is lost';
    world.goToNextPoll();
    await world.pollInVain();
    world.road.fateOf = () => 'arrives';
  },
  'the poller is killed with its page': (world: World) => world.pollKilledWithPage(),
  'the poller is away': async (world: World) => {
    world.goToNextPoll();
    world.restartPoller();
  },
} as const;

type Happening = keyof typeof HAPPENINGS;
type History = readonly (readonly [leads: number, happening: Happening])[];

/** Short enough for the half hour that the Zapier app looks back. */
const history: fc.Arbitrary<History> = fc.array(
  fc.tuple(
    fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 95, max: 260 })),
    fc.constantFrom(...(Object.keys(HAPPENINGS) as Happening[])),
  ),
  { minLength: 2, maxLength: 6 },
);
const skewMinutes = fc.integer({ min: -10, max: 10 });

const deliversAll = (makePoller: MakePoller, happened: History, minutes: number): Promise<void> =>
  withCleanUps(async (whenDone) => {
    const world = await World.begin(makePoller, minutes * 60_000, whenDone);
    for (const [leads, happening] of happened) {
      if (leads > 0) await world.add(leads);
      await HAPPENINGS[happening](world);
    }
    expect(await world.outcome()).toEqual(ALL_WELL);
  });

// One lead a poll takes too long for this; it has a test of its own.
const { powerAutomateConnector: _slow, ...pollers } = OUR_POLLERS;

it.each(Object.entries(pollers))('%s', async (_key, makePoller) => {
  await fc.assert(
    fc.asyncProperty(history, skewMinutes, (happened, minutes) => deliversAll(makePoller, happened, minutes)),
    { numRuns: 5 },
  );
});
