import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../../../packages/testing/servers/postgres.ts';
import { startRedis } from '../../../../packages/testing/servers/redis.ts';
import type { Load } from '../../load/messages.ts';
import { leadHistory } from '../../made-up/leads.ts';
import { organisation, type Size } from '../../made-up/organisation.ts';
import type { Bench } from '../../section.ts';
import { type Home, leadtap, sqliteIn } from '../../service/leadtap.ts';
import { POSTGRES_SETTINGS } from '../../service/postgres-settings.ts';
import { type RunningService, serve } from '../../service/serve.ts';
import { type Account, exploreFeeds } from './feeds.ts';

export interface Data extends Size {
  readonly leadsPerCompany: number;
  /** So many of a company's users poll, in all kinds but `many`. */
  readonly fewPerCompany: number;
}

/** The real program over one database, as often as there are instances. */
export interface Deployment {
  readonly name: string;
  readonly home: Home;
  readonly instances: readonly RunningService[];
  readonly accounts: readonly Account[];
  /** Beside the instances: the database, Redis. */
  readonly servers: Load['processes'];
}

export interface Deployments {
  readonly sqlite: Deployment;
  readonly postgres: Deployment;
  readonly redis: Deployment;
  readonly postgresUrl: string;
  readonly data: Data;
}

const INSTANCES = 2;

/** Companies, users and leads by the program's own commands; gives the tokens by user. */
async function fill(home: Home, data: Data): Promise<Map<string, string>> {
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(data))]);
  const leads = data.companies * data.leadsPerCompany;
  await leadtap(home, ['leads', 'import', '-', '--historical'], leadHistory(leads, data.companies));
  const issued: { userId: string; token: string }[] = JSON.parse(
    await leadtap(home, ['token', 'issue', '--all-users', '--json']),
  );
  return new Map(issued.map(({ userId, token }) => [userId, token]));
}

/** As autovacuum would within minutes, but not in the middle of a round. */
async function vacuum(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
}

async function start(bench: Bench, home: Home): Promise<RunningService[]> {
  const instances: RunningService[] = [];
  while (instances.length < INSTANCES) instances.push(bench.cleanup.own(await serve(home)));
  return instances;
}

async function deploy(
  bench: Bench,
  name: string,
  home: Home,
  tokens: ReadonlyMap<string, string>,
  data: Data,
  servers: Load['processes'] = {},
): Promise<Deployment> {
  const instances = await start(bench, home);
  const accounts = await exploreFeeds(instances[0]?.port ?? 0, tokens, data);
  return { name, home, instances, accounts, servers };
}

export async function startDeployments(bench: Bench, data: Data): Promise<Deployments> {
  const { cleanup, progress } = bench;
  const leads = (data.companies * data.leadsPerCompany).toLocaleString('en');
  const folder = (name: string) => mkdir(join(bench.folder, name), { recursive: true });
  await folder('sqlite');
  await folder('postgres');

  progress(`SQLite: importing ${leads} leads`);
  const sqliteHome = sqliteIn(join(bench.folder, 'sqlite'));
  const sqlite = await deploy(bench, 'sqlite', sqliteHome, await fill(sqliteHome, data), data);

  progress(`PostgreSQL: importing ${leads} leads`);
  const database = cleanup.own(await startPostgres({ settings: POSTGRES_SETTINGS }));
  const limits = cleanup.own(await startRedis());
  const servers = { postgres: [database.pid ?? 0] };
  const settings = { LEADTAP_DATABASE_URL: database.url };
  const home = { folder: join(bench.folder, 'postgres'), settings };
  const tokens = await fill(home, data);
  await vacuum(database.url);
  const postgres = await deploy(bench, 'postgres', home, tokens, data, servers);
  const redisHome = { ...home, settings: { ...settings, LEADTAP_REDIS_URL: limits.url } };
  const redis = await deploy(bench, 'postgres and redis', redisHome, tokens, data, {
    ...servers,
    redis: [limits.pid ?? 0],
  });
  return { sqlite, postgres, redis, postgresUrl: database.url, data };
}
