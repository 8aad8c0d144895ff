import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openPostgresStore, openSqliteStore, type Store } from 'leadtap';
import { startPostgres } from '../../../../packages/testing/servers/postgres.ts';
import { atLeast, BARS } from '../../bars.ts';
import type { Load } from '../../load/messages.ts';
import { leadsRequest } from '../../load/requests.ts';
import { leadLine } from '../../made-up/leads.ts';
import { organisation, userId, WHOLE_COMPANY } from '../../made-up/organisation.ts';
import { ratio, whole } from '../../report/figures.ts';
import { median, type Spread, spread } from '../../report/statistics.ts';
import type { Bench, Section, SectionResult } from '../../section.ts';
import { databaseFile, type Home, leadtap, sqliteIn } from '../../service/leadtap.ts';
import { newDatabase } from '../../service/postgres-database.ts';
import { POSTGRES_SETTINGS } from '../../service/postgres-settings.ts';
import { serve } from '../../service/serve.ts';
import { storeWriteRate } from './store-writes.ts';

type StoreName = 'sqlite' | 'postgres';

interface Measured {
  readonly store: StoreName;
  /** Leads a second, one in each request. */
  readonly single: Spread;
  /** Leads a second by one-row transactions of the store, without HTTP. */
  readonly storeSingle: Spread;
  /** Of neighbouring rounds. */
  readonly singleOfStore: number;
  /** Leads a second, 100 in each request. */
  readonly arrays: Spread;
}

const CONNECTIONS = 64;
/** More of them would wait for a database connection for longer than the service allows: 64 have 6,400 leads under way. */
const ARRAY_CONNECTIONS = 8;
const COMPANIES = 100;
/** A user may send 600 requests a minute: these may send more than any machine takes. */
const USERS_PER_COMPANY = 20;
const ARRAY = 100;

interface Place {
  readonly name: StoreName;
  readonly home: Home;
  openStore(): Promise<Store>;
}

/** Without ids: the same request adds other leads each time. */
function requestsOf(tokens: ReadonlyMap<string, string>, leadsOfEach: number, users: number): string[] {
  const requests: string[] = [];
  for (let user = 0; user < users; user += 1)
    for (let company = 0; company < COMPANIES; company += 1) {
      const line = (_: unknown, n: number) =>
        leadLine(company + COMPANIES * (user * leadsOfEach + n), COMPANIES);
      const lines = Array.from({ length: leadsOfEach }, line);
      const json = leadsOfEach === 1 ? lines.join() : `[${lines.join()}]`;
      requests.push(leadsRequest(tokens.get(userId(company, user)) ?? '', json));
    }
  return requests;
}

async function measureStore(bench: Bench, { name, home, openStore }: Place): Promise<Measured> {
  await mkdir(home.folder, { recursive: true });
  const size = { companies: COMPANIES, usersPerCompany: USERS_PER_COMPANY, places: WHOLE_COMPANY };
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(size))]);
  const issued: { userId: string; token: string }[] = JSON.parse(
    await leadtap(home, ['token', 'issue', '--all-users', '--scope', 'leads:write', '--json']),
  );
  const tokens = new Map(issued.map(({ userId: id, token }) => [id, token]));
  const single = `${name} single`;
  const arrays = `${name} arrays`;
  await bench.generator.learn({ name: single, requests: requestsOf(tokens, 1, USERS_PER_COMPANY) });
  await bench.generator.learn({ name: arrays, requests: requestsOf(tokens, ARRAY, 2) });
  const service = bench.cleanup.own(await serve(home));
  const store = await openStore();
  const seconds = bench.options.quick ? 2 : 5;
  const load = (requests: string, connections: number): Load => ({
    requests,
    ports: [service.port],
    connections,
    processes: { service: [service.pid] },
  });
  const sendRate = async (requests: string, connections: number, leadsOfEach: number) => {
    const report = await bench.generator.closedLoop(load(requests, connections), { seconds });
    service.emptyLog();
    return (report.answers * leadsOfEach) / report.seconds;
  };
  const rates = { single: [] as number[], storeSingle: [] as number[], arrays: [] as number[] };
  try {
    // One round of each to warm up, which does not count.
    for (let round = 0; round <= bench.options.rounds; round += 1) {
      bench.progress(`${name}: round ${round} of ${bench.options.rounds}`);
      const measured = {
        storeSingle: await storeWriteRate(store, CONNECTIONS, COMPANIES, seconds),
        single: await sendRate(single, CONNECTIONS, 1),
        arrays: await sendRate(arrays, ARRAY_CONNECTIONS, ARRAY),
      };
      if (round === 0) continue;
      rates.storeSingle.push(measured.storeSingle);
      rates.single.push(measured.single);
      rates.arrays.push(measured.arrays);
    }
  } finally {
    await store.close();
    await service.stop();
  }
  return {
    store: name,
    single: spread(rates.single),
    storeSingle: spread(rates.storeSingle),
    singleOfStore: median(rates.single.map((rate, round) => rate / (rates.storeSingle[round] ?? Number.NaN))),
    arrays: spread(rates.arrays),
  };
}

async function measure(bench: Bench): Promise<SectionResult> {
  const server = bench.cleanup.own(await startPostgres({ settings: POSTGRES_SETTINGS }));
  const url = await newDatabase(server, 'intake');
  const intakeOn = { LEADTAP_INTAKE: 'on' };
  const sqlite = sqliteIn(join(bench.folder, 'sqlite'));
  const places: readonly Place[] = [
    {
      name: 'sqlite',
      home: { ...sqlite, settings: { ...sqlite.settings, ...intakeOn } },
      openStore: () => openSqliteStore({ file: databaseFile(sqlite.folder), migrate: false }),
    },
    {
      name: 'postgres',
      home: { folder: join(bench.folder, 'postgres'), settings: { LEADTAP_DATABASE_URL: url, ...intakeOn } },
      // A busy machine is slow, and not a fault.
      openStore: () =>
        openPostgresStore({ url, migrate: false, connectLimitMs: 60_000, queryLimitMs: 60_000 }),
    },
  ];
  const figures: Measured[] = [];
  for (const place of places) figures.push(await measureStore(bench, place));
  const cell = ({ median: middle, low, high }: Spread) => `${whole(middle)} (${whole(low)}-${whole(high)})`;
  return {
    tables: [
      {
        title: `POST /leads, ${CONNECTIONS} connections (arrays: ${ARRAY_CONNECTIONS}), ${COMPANIES} companies: leads a second`,
        columns: ['', 'single', 'store alone', 'ratio', `arrays of ${ARRAY}`],
        rows: figures.map(({ store, single, storeSingle, singleOfStore, arrays }) => [
          store,
          cell(single),
          cell(storeSingle),
          ratio(singleOfStore),
          cell(arrays),
        ]),
        note: 'Store alone: one-row transactions by as many callers, in one process, without HTTP.',
      },
    ],
    verdicts: figures.flatMap(({ store, singleOfStore, arrays }) => [
      atLeast(BARS.intake.singleOfStore, singleOfStore, `intake, ${store}: single leads, to the store alone`),
      atLeast(
        store === 'sqlite' ? BARS.intake.sqliteArraysPerSecond : BARS.intake.postgresArraysPerSecond,
        arrays.median,
        `intake, ${store}: leads a second in arrays of ${ARRAY}`,
      ),
    ]),
    figures: {
      connections: CONNECTIONS,
      arrayConnections: ARRAY_CONNECTIONS,
      companies: COMPANIES,
      stores: figures,
    },
  };
}

export const intake: Section = {
  name: 'intake',
  about: 'how fast leads come in over HTTP',
  measure,
};
