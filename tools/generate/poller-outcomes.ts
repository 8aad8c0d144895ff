/**
 * What each platform's way of polling loses and repeats. test/pollers does all of it against the real service and holds
 * it to these figures; docs/integrations/pollers.md is made of them.
 */

export interface Outcome {
  /** Never came. */
  readonly lost: number;
  /** Had not come after ten hours, but more still came. */
  readonly late: number;
  /** How often the automation was started for a lead that it had been started for before. */
  readonly twice: number;
  /** Polls that failed though nothing stood in their way. */
  readonly failed: number;
}

export const ALL_WELL: Outcome = { lost: 0, late: 0, twice: 0, failed: 0 };

/** What is tried, as the documentation tells it. */
export const TRIALS = {
  burst: '5,000 leads at once between two polls',
  equalMilliseconds: '120 leads of four writers, offered at equal milliseconds around three polls',
  refusedOnce: '80 leads; a poll is refused with 429',
  refusedBetweenPages: '250 leads; 429 after two requests',
  refusedForTheHour:
    '240 leads in 48 minutes; 429 all the while, because the 1,000 requests of the hour are used up',
  serviceRestarts: '100 leads; the service is away for a poll, and goes away in the middle of another',
  serviceRestartsBetweenPages: '250 leads; the service is away from the second request of a poll on',
  pollerRestarts:
    '110 leads; the poller is killed when its page has arrived, and is away for 10 minutes later',
  pollerKilledInBetween:
    '40 leads; the poller is killed between handing on leads and storing how far it came',
  clockAhead: "50 leads; the poller's clock is 5 minutes ahead",
  clockBehind: "50 leads; the poller's clock is 5 minutes behind",
} as const;

export type ScenarioKey = keyof typeof TRIALS;
export const SCENARIO_KEYS = Object.keys(TRIALS) as readonly ScenarioKey[];

export interface Way {
  /** In the head of a column. */
  readonly name: string;
  readonly outcomes: Readonly<Partial<Record<ScenarioKey, Outcome>>>;
  readonly toKnow: string;
}

const figure = (difference: Partial<Outcome>): Outcome => ({ ...ALL_WELL, ...difference });

/** All is well but for these. */
function wellBut(
  differences: Partial<Record<ScenarioKey, Partial<Outcome>>>,
  notTried: readonly ScenarioKey[] = [],
): Way['outcomes'] {
  const tried = SCENARIO_KEYS.filter((key) => !notTried.includes(key));
  return Object.fromEntries(tried.map((key) => [key, figure(differences[key] ?? {})]));
}

/** Only these were tried. */
const only = (differences: Partial<Record<ScenarioKey, Partial<Outcome>>>): Way['outcomes'] =>
  Object.fromEntries(Object.entries(differences).map(([key, difference]) => [key, figure(difference)]));

/** With what this repository has for the platform. */
export const OUR_WAYS = {
  zapierApp: {
    name: 'Zapier app',
    outcomes: wellBut({ refusedForTheHour: { lost: 100 } }, ['pollerKilledInBetween']),
    toKnow:
      'The app looks back half an hour, because Zapier keeps nothing that a poll could ask by. When no poll gets through for longer than that, leads before the last half hour are lost to the Zap, but for the newest 100. Give each busy program a user of its own, so that none uses up the limits of another.',
  },
  makeApp: {
    name: 'Make app',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'Make counts leads as processed when the whole run has succeeded. If a later module fails, the run is rolled back and its leads come again: let the module that must not act twice look for the *Trigger ID* first. Tried with a start that was chosen by hand; *From now on* is for Make to know.',
  },
  n8nNode: {
    name: 'n8n node',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
    toKnow:
      'n8n saves what the trigger remembers and starts the workflow at the same moment, and waits for neither. If it is killed within those milliseconds, the leads of that poll can be lost, up to 1,000. Shut n8n down in the ordinary way; after a crash, choose *Start From: A Date* before it once, and drop by *Trigger ID* what you have.',
  },
  workatoConnector: {
    name: 'Workato connector',
    outcomes: wellBut({}),
    toKnow:
      'Nothing. Workato keeps the cursor, and drops by the trigger id what comes again. The connector is in Ruby; what was tried here is its rule, and `check.rb` beside it runs the file itself.',
  },
  activepiecesPiece: {
    name: 'Activepieces piece',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
    toKnow:
      'Its own helper remembers where it is before the flow gets the leads. If Activepieces is killed within that moment, the leads of that poll are lost, up to 2,000. After a crash, publish the flow once with *Start from* before it, and drop by `automation_trigger_id` what you have.',
  },
  pipedreamSource: {
    name: 'Pipedream source',
    outcomes: wellBut({}),
    toKnow:
      'Nothing. The source stores where it is after it has emitted a page; Pipedream drops what is emitted again by the last 100 ids, which is a page.',
  },
  powerAutomateConnector: {
    name: 'Power Automate connector',
    outcomes: wellBut({ burst: { late: 4700 } }, ['pollerKilledInBetween']),
    toKnow:
      'One lead a poll, because its trigger remembers the first lead of an answer: 30 leads an hour when it polls every 2 minutes, 60 every minute. Of 5,000 at once, 300 had come after ten hours; the others come later. For more than that, build the flow.',
  },
  powerAutomateFlow: {
    name: 'Power Automate flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'A page a run: 5,000 leads take 50 runs. The file is updated when all leads of the run are dealt with; if a step fails before, they come again. Drop them by `automation_trigger_id` where that matters.',
  },
  nodeRedFlow: {
    name: 'Node-RED flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'Set `contextStorage` to `localfilesystem`. Node-RED then writes where the flow is to a file every 30 seconds: if it is killed before, the leads of that time come again. `msg.topic` is the trigger id to drop them by.',
  },
  client: {
    name: 'Our client',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 1 } }),
    toKnow:
      'A lead counts as taken when the checkpoint is saved after it. If the program is killed before, that one lead comes again. Keep the checkpoint where you keep what you made of the lead, in one transaction, and none does.',
  },
} as const satisfies Record<string, Way>;

/** What the platform or its users do without special care. */
export const OTHER_WAYS = {
  zapierNewestPage: {
    name: 'Zapier, newest page only',
    outcomes: wellBut(
      {
        burst: { lost: 4900 },
        refusedBetweenPages: { lost: 150 },
        refusedForTheHour: { lost: 140 },
        serviceRestartsBetweenPages: { lost: 150 },
      },
      ['pollerKilledInBetween'],
    ),
    toKnow:
      'A Zap over the bare endpoint sees one page, the newest 100 leads: what exceeds 100 between two polls that get through is lost to it. Use our app.',
  },
  n8nOwnClock: {
    name: "n8n, HTTP Request, n8n's clock",
    outcomes: wellBut({
      burst: { lost: 4900 },
      equalMilliseconds: { twice: 60 },
      refusedBetweenPages: { lost: 150 },
      refusedForTheHour: { lost: 140 },
      serviceRestartsBetweenPages: { lost: 150 },
      pollerKilledInBetween: { twice: 40 },
      clockAhead: { lost: 50 },
      clockBehind: { twice: 150 },
    }),
    toKnow:
      'It remembers when it asked, by its own clock. A clock that is ahead loses every lead; one that is behind repeats them; and whatever a page has no room for is lost. Use our node, or remember the `createdAt` of the last lead and ask again while a page is full.',
  },
  n8nLastTwoMinutes: {
    name: 'n8n, HTTP Request, "the last 2 minutes"',
    outcomes: only({
      burst: { lost: 4900 },
      refusedOnce: { lost: 40 },
      serviceRestarts: { lost: 80 },
      pollerRestarts: { lost: 90 },
      clockAhead: { lost: 50 },
      clockBehind: { twice: 150 },
    }),
    toKnow: 'It remembers nothing, so every poll that does not get through loses its leads. Use our node.',
  },
  workatoWholeSeconds: {
    name: 'Workato, cursor of whole seconds',
    outcomes: only({ burst: { lost: 4900, failed: 3 }, equalMilliseconds: {}, refusedOnce: {} }),
    toKnow:
      'A cursor written with `iso8601` has no milliseconds. When more than a page of leads falls into one second, the next page is the same one, for ever. Our connector keeps `createdAt` as it came.',
  },
  activepiecesTimeBased: {
    name: 'Activepieces, TIMEBASED alone',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 }, clockAhead: { lost: 20 } }),
    toKnow:
      'Its helper begins at the time of its own clock: one that is 5 minutes ahead loses the leads of the first 5 minutes. Our piece begins at the time of the service.',
  },
  activepiecesLastItem: {
    name: 'Activepieces, LAST_ITEM',
    outcomes: wellBut({
      burst: { lost: 4900 },
      refusedBetweenPages: { lost: 150 },
      refusedForTheHour: { lost: 140 },
      serviceRestartsBetweenPages: { lost: 150 },
      pollerKilledInBetween: { lost: 40 },
    }),
    toKnow:
      'It reads the newest page, as Zapier does, and loses what exceeds 100 between two polls. Use our piece.',
  },
  powerAutomateFirstElement: {
    name: 'Power Automate, whole pages',
    outcomes: only({ clockAhead: { twice: 1125 }, refusedOnce: { twice: 3160 } }),
    toKnow:
      'A connector as the wizard makes it remembers the first lead of a page, which is the oldest: every poll repeats all but one of the last one. Our connector asks for one lead at a time.',
  },
  nodeRedContextInMemory: {
    name: 'Node-RED, context in memory',
    outcomes: only({ pollerRestarts: { lost: 110 }, serviceRestarts: {} }),
    toKnow:
      'As it is installed, Node-RED forgets where the flow is when it ends, and begins anew: what came meanwhile is lost. Set `contextStorage`.',
  },
} as const satisfies Record<string, Way>;

export type OurWayKey = keyof typeof OUR_WAYS;
export type OtherWayKey = keyof typeof OTHER_WAYS;
