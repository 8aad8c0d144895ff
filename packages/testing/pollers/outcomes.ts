/**
 * What each platform's way of polling loses and repeats. test/pollers runs all of it against the real service and compares
 * the figures; docs/integrations/pollers.md is generated from them.
 */

export interface Outcome {
  /** Never delivered. */
  readonly lost: number;
  /** Not delivered after ten hours, but leads were still arriving. */
  readonly late: number;
  /** Repeated runs of the automation for the same lead. */
  readonly twice: number;
  /** Failed polls without a fault. */
  readonly failed: number;
}

export const ALL_WELL: Outcome = { lost: 0, late: 0, twice: 0, failed: 0 };

/** The trials, as in the documentation. */
export const TRIALS = {
  burst: '2,500 leads at once between two polls',
  equalMilliseconds: '120 leads of four writers, written in equal milliseconds around three polls',
  refusedOnce: '80 leads; one poll gets a 429',
  refusedBetweenPages: '250 leads; 429 after two requests',
  refusedForTheHour:
    '240 leads in 48 minutes; 429 for all polls, because the 1,000 requests of the hour are used up',
  serviceRestarts: '100 leads; the service is down for one poll, and stops during another',
  serviceRestartsBetweenPages: '250 leads; the service is down from the second request of a poll on',
  pollerRestarts:
    '110 leads; the poller is killed when its page has arrived, and later stopped for 10 minutes',
  pollerKilledInBetween: '40 leads; the poller is killed between passing on leads and saving its position',
  clockAhead: "50 leads; the poller's clock is 5 minutes ahead",
  clockBehind: "50 leads; the poller's clock is 5 minutes behind",
} as const;

export type ScenarioKey = keyof typeof TRIALS;
export const SCENARIO_KEYS = Object.keys(TRIALS) as readonly ScenarioKey[];

export interface Way {
  /** In the head of a column. */
  readonly name: string;
  readonly outcomes: Readonly<Partial<Record<ScenarioKey, Outcome>>>;
}

const figure = (difference: Partial<Outcome>): Outcome => ({ ...ALL_WELL, ...difference });

/** No losses except these. */
function wellBut(
  differences: Partial<Record<ScenarioKey, Partial<Outcome>>>,
  notTried: readonly ScenarioKey[] = [],
): Way['outcomes'] {
  const tried = SCENARIO_KEYS.filter((key) => !notTried.includes(key));
  return Object.fromEntries(tried.map((key) => [key, figure(differences[key] ?? {})]));
}

/** With what this repository has for the platform. */
export const OUR_WAYS = {
  zapierInstant: {
    name: 'Zapier app, instant',
    outcomes: wellBut({ serviceRestarts: { lost: 40 }, pollerKilledInBetween: { lost: 40 } }),
  },
  zapierApp: {
    name: 'Zapier app',
    outcomes: wellBut({ refusedForTheHour: { lost: 100 } }, ['pollerKilledInBetween']),
  },
  makeApp: {
    name: 'Make app',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
  },
  makeInstant: {
    name: 'Make instant modules',
    outcomes: wellBut({}, ['pollerRestarts', 'pollerKilledInBetween']),
  },
  n8nNode: {
    name: 'n8n node',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
  },
  n8nInstant: {
    name: 'n8n instant trigger',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
  },
  workatoInstant: {
    name: 'Workato connector, instant',
    outcomes: wellBut({ serviceRestarts: { lost: 40 } }),
  },
  workatoConnector: {
    name: 'Workato connector',
    outcomes: wellBut({}),
  },
  activepiecesPiece: {
    name: 'Activepieces piece',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
  },
  activepiecesInstant: {
    name: 'Activepieces instant trigger',
    outcomes: wellBut({ pollerKilledInBetween: { lost: 40 } }),
  },
  pipedreamSource: {
    name: 'Pipedream source',
    outcomes: wellBut({}),
  },
  powerAutomateInstant: {
    name: 'Power Automate instant flow',
    outcomes: wellBut({}, ['pollerRestarts', 'pollerKilledInBetween']),
  },
  powerAutomateConnector: {
    name: 'Power Automate connector',
    outcomes: wellBut({ burst: { late: 2200 } }, ['pollerKilledInBetween']),
  },
  nodeRedFlow: {
    name: 'Node-RED flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
  },
  nodeRedInstant: {
    name: 'Node-RED instant flow',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 40 } }),
  },
  client: {
    name: 'Our client',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 1 } }),
  },
  clientInstant: {
    name: 'Our client, `instant`',
    outcomes: wellBut({ pollerKilledInBetween: { twice: 1 } }),
  },
} as const satisfies Record<string, Way>;

export type OurWayKey = keyof typeof OUR_WAYS;
