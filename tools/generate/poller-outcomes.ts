/**
 * How many leads each platform's way of polling loses and repeats. test/pollers runs every scenario against the real service
 * and compares it with these figures; docs/integrations/pollers.md is generated from them.
 */

export interface Outcome {
  /** Leads that were never delivered. */
  readonly lost: number;
  /** Leads not delivered after ten hours, while delivery still continued. */
  readonly late: number;
  /** Repeated starts of the automation for the same lead. */
  readonly twice: number;
  /** Polls that failed although nothing was injected to fail them. */
  readonly failed: number;
}

export const ALL_WELL: Outcome = { lost: 0, late: 0, twice: 0, failed: 0 };

/** The scenarios, in the words of the docs. */
export const TRIALS = {
  burst: '5,000 leads at once between two polls',
  equalMilliseconds: '120 leads of four writers, offered at equal milliseconds around three polls',
  refusedOnce: '80 leads; a poll is refused with 429',
  refusedBetweenPages: '250 leads; 429 after two requests',
  refusedForTheHour:
    '240 leads in 48 minutes; 429 throughout, because the 1,000 requests of the hour are used up',
  serviceRestarts: '100 leads; the service is down for one poll, and stops in the middle of another',
  serviceRestartsBetweenPages: '250 leads; the service is down from the second request of a poll on',
  pollerRestarts:
    '110 leads; the poller is killed when its page has arrived, and is down for 10 minutes later',
  pollerKilledInBetween: '40 leads; the poller is killed between passing on leads and storing its position',
  clockAhead: "50 leads; the poller's clock is 5 minutes ahead",
  clockBehind: "50 leads; the poller's clock is 5 minutes behind",
} as const;

export type ScenarioKey = keyof typeof TRIALS;
export const SCENARIO_KEYS = Object.keys(TRIALS) as readonly ScenarioKey[];

export interface Way {
  /** Heads its column. */
  readonly name: string;
  readonly outcomes: Readonly<Partial<Record<ScenarioKey, Outcome>>>;
  readonly toKnow: string;
}

const figure = (difference: Partial<Outcome>): Outcome => ({ ...ALL_WELL, ...difference });

/** No loss except for these. */
function wellBut(
  differences: Partial<Record<ScenarioKey, Partial<Outcome>>>,
  notTried: readonly ScenarioKey[] = [],
): Way['outcomes'] {
  const tried = SCENARIO_KEYS.filter((key) => !notTried.includes(key));
  return Object.fromEntries(tried.map((key) => [key, figure(differences[key] ?? {})]));
}

/** Only these were run. */
const only = (differences: Partial<Record<ScenarioKey, Partial<Outcome>>>): Way['outcomes'] =>
  Object.fromEntries(Object.entries(differences).map(([key, difference]) => [key, figure(difference)]));

/** With the integrations of this repository. */
export const OUR_WAYS = {
  zapierApp: {
    name: 'Zapier app',
    outcomes: wellBut({ refusedForTheHour: { lost: 100 } }, ['pollerKilledInBetween']),
    toKnow:
      'The app requests the last half hour in every poll, because Zapier stores no position. When no poll succeeds for longer than that, the Zap loses the leads before the last half hour, except the newest 100. Give each busy program its own user, so that none uses up the limits of another.',
  },
  makeApp: {
    name: 'Make app',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'Make counts leads as processed when the whole run has succeeded. If a later module fails, the run is rolled back and its leads come again: let the module that must not act twice search for the *Trigger ID* first. Tested with a start that was chosen by hand; how *From now on* works is internal to Make.',
  },
  n8nNode: {
    name: 'n8n node',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
    toKnow:
      'n8n saves the position of the trigger and starts the workflow at the same moment, and waits for neither. If it is killed within those milliseconds, the leads of that poll can be lost, up to 1,000. Shut n8n down in the ordinary way; after a crash, choose *Start From: A Date* before it once, and drop leads that you have by *Trigger ID*.',
  },
  workatoConnector: {
    name: 'Workato connector',
    outcomes: wellBut({}),
    toKnow:
      'Nothing. Workato stores the cursor, and drops repeated leads by the trigger id. The connector is in Ruby; these figures are of its algorithm, and `check.rb` beside it runs the file itself.',
  },
  activepiecesPiece: {
    name: 'Activepieces piece',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
    toKnow:
      'Its own helper stores the position before the flow gets the leads. If Activepieces is killed within that moment, the leads of that poll are lost, up to 2,000. After a crash, publish the flow once with *Start from* before it, and drop leads that you have by `automation_trigger_id`.',
  },
  pipedreamSource: {
    name: 'Pipedream source',
    outcomes: wellBut({}),
    toKnow:
      'Nothing. The source stores its position after it has emitted a page; Pipedream drops repeated leads by the last 100 ids, which is a page.',
  },
  powerAutomateConnector: {
    name: 'Power Automate connector',
    outcomes: wellBut({ burst: { late: 4700 } }, ['pollerKilledInBetween']),
    toKnow:
      'One lead a poll, because its trigger stores the first lead of a response: 30 leads an hour when it polls every 2 minutes, 60 every minute. Of 5,000 at once, 300 were delivered after ten hours; the others follow. For more than that, build the flow.',
  },
  powerAutomateFlow: {
    name: 'Power Automate flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'A page a run: 5,000 leads take 50 runs. The file is updated when all leads of the run are processed; if a step fails before, they are delivered again. Drop them by `automation_trigger_id` where that matters.',
  },
  nodeRedFlow: {
    name: 'Node-RED flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
    toKnow:
      'Set `contextStorage` to `localfilesystem`. Node-RED then writes the position of the flow to a file every 30 seconds: if it is killed before, the leads of that time are delivered again. `msg.topic` is the trigger id to drop them by.',
  },
  client: {
    name: 'Our client',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 1 } }),
    toKnow:
      'A lead counts as processed when the checkpoint is saved after it. If the program is killed before, that one lead is delivered again. Save the checkpoint and your own data in one transaction, and no lead is repeated.',
  },
} as const satisfies Record<string, Way>;

/** With what a platform or its users do without our integration. */
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
      'A Zap over the bare endpoint sees one page, the newest 100 leads: the Zap loses what exceeds 100 between two polls that succeed. Use our app.',
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
      'It stores the time of its last request by its own clock. A clock that is ahead loses every lead; one that is behind repeats them; and what exceeds a page is lost. Use our node, or store the `createdAt` of the last lead and poll again while a page is full.',
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
    toKnow: 'It stores no position, so every poll that fails loses its leads. Use our node.',
  },
  workatoWholeSeconds: {
    name: 'Workato, cursor of whole seconds',
    outcomes: only({ burst: { lost: 4900, failed: 3 }, equalMilliseconds: {}, refusedOnce: {} }),
    toKnow:
      'A cursor written with `iso8601` has no milliseconds. When more than a page of leads falls into one second, the next page is the same one, for ever. Our connector keeps all digits of `createdAt`.',
  },
  activepiecesTimeBased: {
    name: 'Activepieces, TIMEBASED alone',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 }, clockAhead: { lost: 20 } }),
    toKnow:
      'Its helper starts at the time of its own clock: one that is 5 minutes ahead loses the leads of the first 5 minutes. Our piece starts at the time of the service.',
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
      'A connector from the wizard stores the first lead of a page, which is the oldest: every poll repeats the previous page except one lead. Our connector requests one lead at a time.',
  },
  nodeRedContextInMemory: {
    name: 'Node-RED, context in memory',
    outcomes: only({ pollerRestarts: { lost: 110 }, serviceRestarts: {} }),
    toKnow:
      'By default, Node-RED loses the position of the flow when it ends, and starts again from now: leads that arrived meanwhile are lost. Set `contextStorage`.',
  },
} as const satisfies Record<string, Way>;

export type OurWayKey = keyof typeof OUR_WAYS;
export type OtherWayKey = keyof typeof OTHER_WAYS;
