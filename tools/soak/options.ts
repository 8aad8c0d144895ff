import { parseArgs } from 'node:util';
import { MIXED_MUTATIONS } from '../../packages/testing/delivery-trial/mixed/mutations.ts';
import { POSTGRES_MUTATIONS, SQLITE_MUTATIONS } from '../../packages/testing/delivery-trial/mutations.ts';

export const STORES = ['postgres', 'sqlite'] as const;
export type StoreName = (typeof STORES)[number];

/** Which actors there are, with what they do. */
export const ACTORS = {
  postgres: {
    writers:
      'SQL inserts (one row, many, COPY, savepoints, rollbacks, 2PC, several companies), updates, moves, deletes',
    contention: 'SQL deletes, inserts, updates and moves of the same few leads',
    package: 'batches through the store of the package, some of them historical',
    import: 'leadtap leads import; some are killed with SIGKILL',
    http: 'POST /leads with ids and with idempotency keys, as JSON and as forms',
    history: 'historical inserts by SQL',
    copying: 'an AFTER INSERT trigger that copies leads into another company',
    remade: 'a company that is deleted and made again after a burst',
    columns: 'columns that are added to the table of leads and dropped',
    clock: 'the clock is set back by an hour, and forward',
    crash: 'the server crashes and starts again',
    cut: 'connections are cut',
    network: 'delay, cut, half-open, slow bytes and reset between instances, database, Redis and clients',
    pgbouncer: 'PgBouncer in transaction mode in front of one instance',
  },
  sqlite: {
    package: 'batches through the store of the package, some of them historical',
    import: 'leadtap leads import; some are killed with SIGKILL',
    http: 'POST /leads with ids and with idempotency keys, as JSON and as forms',
    statements: 'SQL deletes, updates and moves',
    remade: 'a company that is deleted and made again after a burst',
    clock: 'the clock is set back by an hour, and forward (libfaketime)',
    crash: 'an instance is killed with SIGKILL and starts again on the same port',
    network: 'delay, cut, half-open, slow bytes and reset between instances and clients',
  },
} as const;

export interface SoakOptions {
  readonly store: StoreName;
  readonly seconds: number;
  readonly seed: number;
  readonly writers: number;
  readonly companies: number;
  readonly instances: number;
  /** A deliberate defect; `all`: the trial runs without any, and then with each. */
  readonly mutation: string | undefined;
  /** Where the report is written. */
  readonly report: string | undefined;
  /** Only this: everything at once on three instances with Redis, with faults of the network; resources are compared. */
  readonly mixed: boolean;
  readonly actors: ReadonlySet<string>;
}

const DEFAULTS = { seconds: 60, seed: 1, writers: 4, companies: 2, instances: 2 };

const MIXED_INSTANCES = 3;

const list = (table: Readonly<Record<string, string>>): string =>
  Object.entries(table)
    .map(([name, text]) => `    ${name.padEnd(14)}${text}`)
    .join('\n');

export const USAGE = `npm run soak [-- OPTIONS]

  --store NAME      postgres or sqlite                                     postgres
  --seconds N       how long they write                                    ${DEFAULTS.seconds}
  --minutes N       the same in minutes
  --seed N          other decisions than last time                         ${DEFAULTS.seed}
  --writers N       SQL writers, and as many on the same few leads         ${DEFAULTS.writers}
  --companies N     each with 14 clients, beside those of some actors      ${DEFAULTS.companies}
  --instances N     processes that serve                                   ${DEFAULTS.instances}
  --actors A,B      only these
  --without A,B     all but these
  --mutation NAME   a deliberate defect, to see that it is found; all: the trial passes without any, and finds each
  --report FILE     write figures, faults, findings, commit and command to a JSON file
  --mixed           only this: everything at once on three instances with PostgreSQL and Redis, with faults of the network;
                    memory, handles and connections after it are compared with those after its first tenth

  Actors with --store postgres:
${list(ACTORS.postgres)}

  Actors with --store sqlite:
${list(ACTORS.sqlite)}

  Mutations with --store postgres: ${Object.keys(POSTGRES_MUTATIONS).join(', ')}
  Mutations with --store sqlite:   ${Object.keys(SQLITE_MUTATIONS).join(', ')}
  Mutations with --mixed:          ${Object.keys(MIXED_MUTATIONS).join(', ')}

  A third of the time is calm, a third has crashes, cuts and faults of the network, a third has clock steps, as far as those are chosen.
  Exit code 0: nothing was lost, doubled or stale, and no promise was broken. Exit code 1: something was.
  With --mutation all, 0 also means that each mutation was found.
`;

export const ALL = 'all';

export function mutationsOf({ store, mixed }: Pick<SoakOptions, 'store' | 'mixed'>): string[] {
  if (mixed) return Object.keys(MIXED_MUTATIONS);
  return Object.keys(store === 'postgres' ? POSTGRES_MUTATIONS : SQLITE_MUTATIONS);
}

/** Undefined when the usage is asked for. Throws on what is not understood. */
export function readOptions(args: readonly string[]): SoakOptions | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { ...text, default: 'postgres' },
      seconds: text,
      minutes: text,
      seed: text,
      writers: text,
      companies: text,
      instances: text,
      mixed: { type: 'boolean', default: false },
      actors: text,
      without: text,
      mutation: text,
      report: text,
      help: { type: 'boolean', default: false },
    },
  });
  const { store: storeText, actors, without, mutation, report, help, mixed, minutes, ...given } = values;
  if (help) return undefined;
  const store = oneOf('store', storeText, STORES);
  if (mixed && store !== 'postgres')
    throw new Error('--mixed needs PostgreSQL: instances share no SQLite file over a network');
  if (mutation !== undefined) oneOf('mutation', mutation, [ALL, ...mutationsOf({ store, mixed })]);
  const known = Object.keys(ACTORS[store]);
  const chosen = actors === undefined ? known : namesOf('actors', actors, known);
  const left = without === undefined ? [] : namesOf('without', without, known);
  const numbers = Object.entries(given).map(([name, value]) => [name, wholeNumber(name, value)]);
  return {
    ...DEFAULTS,
    ...(mixed && { instances: MIXED_INSTANCES }),
    ...Object.fromEntries(numbers),
    ...(minutes !== undefined && { seconds: 60 * wholeNumber('minutes', minutes) }),
    store,
    mutation,
    report,
    mixed,
    actors: new Set(chosen.filter((name) => !left.includes(name))),
  };
}

const namesOf = (option: string, text: string, known: readonly string[]): string[] =>
  text
    .split(',')
    .filter(Boolean)
    .map((name) => oneOf(option, name, known));

function oneOf<T extends string>(option: string, value: string, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found === undefined) throw new Error(`--${option} must be of: ${known.join(', ')}`);
  return found;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
