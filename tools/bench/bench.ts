import { openPostgresStore, openSqliteStore, type Store } from 'leadtap';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../../packages/testing/servers/postgres.ts';
import type { Cleanup } from './cleanup.ts';
import { copyToPostgres, fillSqlite, type Shape, type Tokens } from './data.ts';
import type { Comparison, Table, Verdict } from './report.ts';
import type { Checkout, Home } from './service.ts';

export interface Options {
  /** Rounds that count, for each figure. */
  readonly rounds: number;
  /** Of one round. */
  readonly seconds: number;
  readonly quick: boolean;
  /** Only these kinds of poll and these stores; all if empty. */
  readonly kinds: readonly string[];
  readonly stores: readonly string[];
  /** Leads of the large database of the growth section. */
  readonly leads: number;
}

export interface Bench {
  readonly options: Options;
  /** Runs at the end of the section, or when the bench is interrupted. */
  readonly cleanup: Cleanup;
  /** A folder that is removed at the end of the run. */
  readonly folder: string;
  readonly checkout: Checkout;
  /** The same one, and the one to compare with. */
  readonly checkouts: readonly Checkout[];
  readonly postgres: PostgresServer;
  /** The data of the polls section, which the memory section uses as well. */
  readonly pollData: (checkout: Checkout) => Promise<Dataset>;
  readonly progress: (line: string) => void;
}

export interface Result {
  readonly tables: readonly Table[];
  readonly verdicts: readonly Verdict[];
  readonly comparisons?: readonly Comparison[];
  readonly figures: object;
  /** An SVG for docs/images/performance.svg. */
  readonly picture?: string;
}

export interface Section {
  readonly name: string;
  readonly about: string;
  /** It measures all checkouts. The others measure this one only. */
  readonly isComparison?: boolean;
  measure(bench: Bench): Promise<Result>;
}

export const isIncluded = (name: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.includes(name);

/** One after the other, so that they do not disturb each other. */
export async function measureStores<Figures>(
  { options }: Bench,
  measure: (store: 'sqlite' | 'postgres') => Promise<Figures>,
): Promise<Figures[]> {
  const figures: Figures[] = [];
  for (const store of ['sqlite', 'postgres'] as const)
    if (isIncluded(store, options.stores)) figures.push(await measure(store));
  return figures;
}

/** Rounds of all contestants alternate, every second time in reverse order. The first one does not count. */
export async function measureInTurns<Contestant, Measured>(
  rounds: number,
  contestants: readonly Contestant[],
  measure: (contestant: Contestant) => Promise<Measured>,
): Promise<Map<Contestant, Measured[]>> {
  const measured = new Map(contestants.map((contestant) => [contestant, [] as Measured[]]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [contestant, own] of round % 2 === 0 ? measured : [...measured].reverse()) {
      const result = await measure(contestant);
      if (round > 0) own.push(result);
    }
  return measured;
}

/** PostgreSQL with its own default of shared buffers; the servers of the tests have less. */
export const startBenchPostgres = (): Promise<PostgresServer> =>
  startPostgres({ settings: { shared_buffers: '128MB', max_wal_size: '4GB' } });

export async function query(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** The same companies, users, tokens and leads in SQLite and in PostgreSQL. */
export interface Dataset {
  readonly sqlite: Home;
  readonly postgres: Home;
  readonly postgresUrl: string;
  readonly postgresPid: number;
  readonly tokens: Tokens;
}

export async function makeDataset(
  bench: Pick<Bench, 'folder' | 'postgres' | 'progress'>,
  checkout: Checkout,
  name: string,
  shape: Shape,
  scope?: string,
): Promise<Dataset> {
  bench.progress(`${name}, ${checkout.name}: writing ${shape.companies} companies and their leads`);
  const sqlite = { checkout, folder: `${bench.folder}/${name}-${checkout.name}`, settings: {} };
  const filled = await fillSqlite(sqlite, shape, scope);
  const server = bench.postgres;
  const database = `${name}_${checkout.name}`;
  await query(server.url, `CREATE DATABASE ${database}`);
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  await copyToPostgres(sqlite, url.href);
  // As autovacuum would do within minutes, but not in the middle of a round.
  await query(url.href, 'VACUUM ANALYZE', 'CHECKPOINT');
  const postgres = { ...sqlite, settings: { LEADTAP_DATABASE_URL: url.href } };
  return { sqlite, postgres, postgresUrl: url.href, postgresPid: server.pid ?? 0, ...filled };
}

/** As another process that writes leads has it. */
export const openStore = (dataset: Dataset, store: 'sqlite' | 'postgres'): Promise<Store> =>
  store === 'sqlite'
    ? openSqliteStore({ file: `${dataset.sqlite.folder}/leadtap.db`, migrate: false })
    : openPostgresStore({ url: dataset.postgresUrl, migrate: false });
