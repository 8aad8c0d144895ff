import { DatabaseSync } from '@photostructure/sqlite';
import {
  type Bench,
  type Dataset,
  makeDataset,
  measureInTurns,
  measureStores,
  query,
  type Result,
  type Section,
} from './bench.ts';
import { STORES } from './contestants.ts';
import {
  EVERY_PLACE,
  type Feed,
  type History,
  importHistory,
  pollRequest,
  readFeed,
  type Shape,
  userId,
} from './data.ts';
import { atLeast, atMost, micros, millis, ratios, spread, whole } from './report.ts';
import { type Instance, serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, type Requests, type Target, writeRequests } from './wrk.ts';

/** These companies have the same users at every size; only the other data grows. */
const MEASURED = 5;
const MEASURED_USERS = 2000;
const WARM_UP_SECONDS = 6;
const HISTORY_MS = 300 * 24 * 3600 * 1000;

const SMALL: Shape = {
  companies: MEASURED,
  usersOf: () => MEASURED_USERS,
  places: EVERY_PLACE,
  history: { leads: 1000, intervalMs: HISTORY_MS / 1000, companyOf: (n) => n % MEASURED },
};

/** A tenth of the leads is in the measured companies; each other company has about 1,000 leads and 100 users. */
function largeShape(leads: number): Shape & { readonly history: History } {
  const others = Math.max(MEASURED, Math.round((leads * 0.9) / 1000));
  return {
    companies: MEASURED + others,
    usersOf: (company) => (company < MEASURED ? MEASURED_USERS : 100),
    places: EVERY_PLACE,
    history: {
      leads: Math.min(leads, IMPORTED),
      intervalMs: Math.floor(HISTORY_MS / leads),
      companyOf: (n) => (n % 10 === 0 ? (n / 10) % MEASURED : MEASURED + (n % others)),
    },
  };
}

/** So many leads are imported. Copies of them, which get older and older, are inserted with SQL: that is ten times as fast. */
const IMPORTED = 20_000;

/** `age` moves a copy, `newId` makes its ids unique. `afterUpdate` is run before the next copy. */
const copyStatements = (
  { age, newId, afterUpdate = [] }: { age: string; newId: string; afterUpdate?: readonly string[] },
  table: string,
  copies: number,
): string[] => [
  `CREATE TEMP TABLE copied AS SELECT * FROM ${table}`,
  ...Array.from({ length: copies }, () => [
    `UPDATE copied SET created_at = created_at - ${age}, id = ${newId}, automation_trigger_id = ${newId}`,
    ...afterUpdate,
    `INSERT INTO ${table} SELECT * FROM copied`,
  ]).flat(),
];

/** As if they had been imported and vacuumed. Without the triggers of PostgreSQL, which would stamp the copies. */
export async function addCopies(
  { sqlite, postgresUrl }: Dataset,
  { leads, intervalMs }: History,
  total: number,
): Promise<void> {
  const copies = Math.round(total / leads) - 1;
  const spanMs = leads * intervalMs;
  const database = new DatabaseSync(`${sqlite.folder}/leadtap.db`);
  const own = ['PRAGMA synchronous = OFF', 'PRAGMA foreign_keys = OFF', 'BEGIN'];
  for (const statement of [
    ...own,
    ...copyStatements({ age: `${spanMs}`, newId: 'hex(randomblob(16))' }, 'leads', copies),
    'COMMIT',
  ])
    database.exec(statement);
  database.close();
  await query(
    postgresUrl,
    'SET session_replication_role = replica',
    'SET synchronous_commit = off',
    ...copyStatements(
      // PostgreSQL does not vacuum temporary tables by itself: each copy would read the old rows of all earlier ones.
      { age: `interval '${spanMs} ms'`, newId: 'gen_random_uuid()', afterUpdate: ['VACUUM copied'] },
      'leadtap.leads',
      copies,
    ),
    'VACUUM ANALYZE',
    'CHECKPOINT',
  );
}

const QUERIES = {
  empty: ({ empty }: Feed) => empty,
  page: ({ since }: Feed) => since,
};
type Kind = keyof typeof QUERIES;
const KINDS = Object.keys(QUERIES) as Kind[];
const SIZES = ['small', 'large'] as const;
type Size = (typeof SIZES)[number];

interface Served extends Target {
  readonly requests: Record<Kind, Requests>;
  readonly startMs: number;
}

async function serveSize(
  bench: Bench,
  size: Size,
  dataset: Dataset,
  store: 'sqlite' | 'postgres',
): Promise<Served> {
  const instance: Instance = bench.cleanup.own(await serve(dataset[store]));
  const users: { token: string; feed: Feed }[] = [];
  for (let company = 0; company < MEASURED; company += 1) {
    const token = (n: number) => dataset.tokens.get(userId(company, n)) ?? '';
    const feeds: Feed[] = [];
    for (const n of EVERY_PLACE.keys()) feeds.push(await readFeed(instance.port, token(n)));
    for (let n = 0; n < MEASURED_USERS; n += 1)
      users.push({ token: token(n), feed: feeds[n % feeds.length] ?? { empty: '', since: '' } });
  }
  const write = (kind: Kind) =>
    writeRequests(
      `${bench.folder}/requests-${size}-${kind}`,
      users.map(({ token, feed }) => pollRequest(token, QUERIES[kind](feed))),
    );
  return {
    ...instance,
    serverPids: store === 'postgres' ? [dataset.postgresPid] : [],
    requests: { empty: write('empty'), page: write('page') },
  };
}

/** Processor time of instance and database together: with many leads the database may do more. */
async function measureStore(bench: Bench, datasets: Record<Size, Dataset>, store: 'sqlite' | 'postgres') {
  const served = {
    small: await serveSize(bench, 'small', datasets.small, store),
    large: await serveSize(bench, 'large', datasets.large, store),
  };
  const polls = [];
  for (const { requests, ...target } of bench.options.quick ? [] : Object.values(served))
    await load(target, requests.empty, WARM_UP_SECONDS);
  for (const kind of KINDS) {
    bench.progress(`growth: ${store}, ${kind}`);
    const costs = await measureInTurns(bench.options.rounds, SIZES, async (size) => {
      const measured = await load(served[size], served[size].requests[kind], bench.options.seconds);
      return measured.micros + measured.serverMicros;
    });
    const [small = [], large = []] = SIZES.map((size) => costs.get(size));
    polls.push({ kind, small: spread(small), large: spread(large), growth: ratios(large, small) });
  }
  return { store, polls, startMs: served.large.startMs };
}

/** One lead after the other, in one transaction with the settings of the store. Leads per second. */
function insertPlainly(file: string): number {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON');
  database.exec('PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY');
  const rows = database.prepare('SELECT * FROM leads ORDER BY created_at').all();
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => columns.map((column) => row[column] ?? null));
  database.exec('DELETE FROM leads');
  const insert = database.prepare(
    `INSERT INTO leads (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  const startedAt = performance.now();
  database.exec('BEGIN IMMEDIATE');
  for (const row of values) insert.run(...row);
  database.exec('COMMIT');
  const seconds = (performance.now() - startedAt) / 1000;
  database.close();
  return rows.length / seconds;
}

/** From a file of the server, in one transaction. Leads per second. */
async function copyPlainly(url: string, leads: number): Promise<number> {
  await query(url, `COPY leadtap.leads TO PROGRAM 'cat > leads.copy'`, 'DELETE FROM leadtap.leads');
  const startedAt = performance.now();
  await query(url, `SET leadtap.historical = 'on'`, `COPY leadtap.leads FROM 'leads.copy'`);
  return (leads * 1000) / (performance.now() - startedAt);
}

/** `leads import`, compared with the same rows in plain SQL, into the same table with its triggers and indexes. */
async function measureImports(bench: Bench) {
  const companies = 50;
  const shape: Shape = { companies, usersOf: () => 1, places: EVERY_PLACE };
  const dataset = await makeDataset(bench, bench.checkout, 'import', shape);
  const leads = bench.options.quick ? 5000 : 50_000;
  const history: History = { leads, intervalMs: 1000, companyOf: (n) => n % companies };
  const plain = {
    sqlite: () => insertPlainly(`${dataset.sqlite.folder}/leadtap.db`),
    postgres: () => copyPlainly(dataset.postgresUrl, leads),
  };
  return measureStores(bench, async (store) => {
    const imported = await importHistory(dataset[store], history);
    const inPlainSql = await plain[store]();
    return { store, imported, inPlainSql, share: imported / inPlainSql };
  });
}

async function measure(bench: Bench): Promise<Result> {
  const { leads } = bench.options;
  const large = largeShape(leads);
  const datasets = {
    small: await makeDataset(bench, bench.checkout, 'small', SMALL),
    large: await makeDataset(bench, bench.checkout, 'large', large),
  };
  bench.progress(`growth: ${whole(leads)} leads`);
  await addCopies(datasets.large, large.history, leads);
  const stores = await measureStores(bench, (store) => measureStore(bench, datasets, store));
  bench.progress('growth: leads import and plain SQL');
  const imports = await measureImports(bench);
  return {
    tables: [
      {
        title: `What do ${whole(leads)} stored leads cost?`,
        isDetail: true,
        columns: [
          '',
          ...KINDS.flatMap((kind) => [`${kind} poll with 1,000`, `with ${whole(leads)}`]),
          'start of the instance',
        ],
        rows: stores.map(({ store, polls, startMs }) => [
          `Leadtap, ${STORES[store]}`,
          ...polls.flatMap(({ small, large }) => [micros(small.median), micros(large.median)]),
          millis(startMs),
        ]),
      },
      {
        title: 'How fast is an import?',
        isDetail: true,
        columns: ['', 'leads per second', 'plain INSERT or COPY of the same rows', 'share'],
        rows: imports.map(({ store, imported, inPlainSql, share }) => [
          `leads import, ${STORES[store]}`,
          whole(imported),
          whole(inPlainSql),
          share.toFixed(2),
        ]),
      },
    ],
    verdicts: [
      ...stores.flatMap(({ store, polls, startMs }) => [
        ...polls.map(({ kind, growth }) =>
          atMost(TARGETS.growth, growth.median, `growth, ${store}: ${kind}`),
        ),
        atMost(TARGETS.startMs, startMs, `growth, ${store}: ms until it serves`),
      ]),
      ...imports.map(({ store, share }) =>
        atLeast(TARGETS.importOfPlain, share, `growth, ${store}: import, of plain SQL`),
      ),
    ],
    figures: { leads, stores, imports },
  };
}

export const growth: Section = { name: 'growth', about: 'what a poll costs with many leads', measure };
