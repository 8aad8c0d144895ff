// @nightly and after a change of integrations/ packages/client/src/ packages/contract/src/ packages/testing/pollers/ packages/server/src/hooks/ packages/server/src/poll/
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withCleanUps } from '../../packages/testing/integrations/new-leads.ts';
import { OUR_POLLERS } from '../../packages/testing/pollers/every-poller.ts';
import { ALL_WELL, type Outcome } from '../../packages/testing/pollers/outcomes.ts';
import type { MakePoller } from '../../packages/testing/pollers/poller.ts';
import { World } from '../../packages/testing/pollers/world.ts';

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

/** None, a few, about a page, or three pages. */
const leadCount = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 95, max: 210 }));
/** Most of what may happen, some of it twice. Short enough for the half hour that the Zapier app looks back. */
const historyOf = (happenings: readonly Happening[]): fc.Arbitrary<History> =>
  fc
    .shuffledSubarray([...happenings, ...happenings], { minLength: 6, maxLength: 9 })
    .chain((order) => fc.tuple(...order.map((happening) => fc.tuple(leadCount, fc.constant(happening)))));
const ANY = Object.keys(HAPPENINGS) as Happening[];
const skewMinutes = fc.integer({ min: -10, max: 10 });

const outcomeOf = (makePoller: MakePoller, happened: History, minutes: number): Promise<Outcome> =>
  withCleanUps(async (whenDone) => {
    const world = await World.begin(makePoller, minutes * 60_000, whenDone);
    for (const [leads, happening] of happened) {
      if (leads > 0) await world.add(leads);
      await HAPPENINGS[happening](world);
    }
    return world.outcome();
  });

// One lead a poll takes too long for this; it has a test of its own.
const {
  powerAutomateConnector: _slow,
  makeInstant,
  powerAutomateInstant,
  zapierInstant,
  workatoInstant,
  ...pollers
} = OUR_POLLERS;

it.each(Object.entries(pollers))('%s', async (_key, makePoller) => {
  const deliversAll = async (happened: History, minutes: number) => {
    expect(await outcomeOf(makePoller, happened, minutes)).toEqual(ALL_WELL);
  };
  await fc.assert(fc.asyncProperty(historyOf(ANY), skewMinutes, deliversAll), { numRuns: 2 });
});

/** They keep no position, so they may repeat leads, and what becomes of a killed run is known to the platform alone. */
const WITHOUT_POSITION = Object.entries({ makeInstant, powerAutomateInstant });
const UNKILLED = ANY.filter((happening) => happening !== 'the poller is killed with its page');

it.each(WITHOUT_POSITION)('%s loses no lead', async (_key, makePoller) => {
  const losesNone = async (happened: History, minutes: number) => {
    const outcome = await outcomeOf(makePoller, happened, minutes);
    expect(outcome).toEqual({ ...ALL_WELL, twice: outcome.twice });
  };
  await fc.assert(fc.asyncProperty(historyOf(UNKILLED), skewMinutes, losesNone), { numRuns: 2 });
});

/** After a page that was lost on its way, these wait for the next event. The app for Zapier accepts events of the last 5 minutes. */
const WAIT_FOR_EVENTS = Object.entries({ zapierInstant, workatoInstant });
const NEXT_LEAD: History = [[1, 'nothing']];

it.each(WAIT_FOR_EVENTS)('%s, if a lead follows', async (_key, makePoller) => {
  const deliversAll = async (happened: History) => {
    expect(await outcomeOf(makePoller, [...happened, ...NEXT_LEAD], 0)).toEqual(ALL_WELL);
  };
  await fc.assert(fc.asyncProperty(historyOf(ANY), deliversAll), { numRuns: 2 });
});
