import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Organisation, openPostgresStore, openSqliteStore, type Store } from 'leadtap';
import type { NetworkLink } from '../../packages/testing/delivery-trial/actors/network-faults.ts';
import type { StoredLead } from '../../packages/testing/delivery-trial/judge/history.ts';
import {
  mutatePostgres,
  mutateSqlite,
  type PostgresMutation,
  type SqliteMutation,
} from '../../packages/testing/delivery-trial/mutations.ts';
import { installSteppedClock } from '../../packages/testing/delivery-trial/postgres/clock.ts';
import { deleteCompanyFrom } from '../../packages/testing/delivery-trial/postgres/remade-company.ts';
import { readStoredFrom } from '../../packages/testing/delivery-trial/postgres/stored.ts';
import { withClient } from '../../packages/testing/delivery-trial/postgres/with-client.ts';
import {
  deleteCompanyFromFile,
  readStoredFromFile,
} from '../../packages/testing/delivery-trial/sqlite/statements.ts';
import { PGBOUNCER, startPgBouncer } from '../../packages/testing/servers/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../../packages/testing/servers/postgres.ts';
import { REDIS } from '../../packages/testing/servers/programs.ts';
import { startRedis } from '../../packages/testing/servers/redis.ts';
import { TcpProxy } from '../../packages/testing/servers/tcp-proxy.ts';
import type { CleanUps } from './clean-ups.ts';
import { steppedProcessClock } from './faketime.ts';
import { type InstallOptions, install, type SoakInstallation } from './installation.ts';
import type { SoakOptions } from './options.ts';

type DeleteCompany = (
  companyId: string,
  beforeCommit: (ids: readonly string[]) => () => void,
) => Promise<void>;

/** What the trial needs of a store, whichever it is. */
export interface Environment {
  readonly installation: SoakInstallation;
  /** Of a database of the trial's own. */
  readonly databaseUrl: string;
  openStore(): Promise<Store>;
  readStored(): Promise<StoredLead[]>;
  readonly deleteCompany: DeleteCompany;
  /** Undefined where the clock cannot be stepped. */
  readonly setClockOffset: ((offsetMs: number) => Promise<void>) | undefined;
  readonly server: PostgresServer | undefined;
  /** Empty without the actor `network`. */
  readonly links: readonly NetworkLink[];
  readonly notes: readonly string[];
}

export type Prepare = (
  options: SoakOptions,
  organisation: Organisation,
  cleanUps: CleanUps,
  given?: Partial<Pick<InstallOptions, 'env' | 'onLogLine'>>,
) => Promise<Environment>;

async function makeFolder(cleanUps: CleanUps): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadtap-soak-'));
  cleanUps.add(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const portOf = (url: string): number => Number(new URL(url).port);

/** The same addresses, each through a proxy of its own. */
async function linkThroughProxies(
  to: NetworkLink['to'],
  urls: readonly string[],
  cleanUps: CleanUps,
): Promise<{ readonly urls: string[]; readonly links: NetworkLink[] }> {
  const links = await Promise.all(
    urls.map(async (url) => ({ to, proxy: await TcpProxy.start(portOf(url)), url })),
  );
  for (const { proxy } of links) cleanUps.add(() => proxy.remove());
  return { urls: links.map(({ proxy, url }) => proxy.through(url)), links };
}

/** With clients that connect through proxies. */
async function installBehindProxies(
  options: InstallOptions,
  cleanUps: CleanUps,
): Promise<{ readonly installation: SoakInstallation; readonly links: NetworkLink[] }> {
  const installation = await install(options, cleanUps);
  const { urls, links } = await linkThroughProxies('clients', installation.urls, cleanUps);
  return { installation: { ...installation, urls }, links };
}

const SETTINGS = {
  max_connections: 300,
  shared_buffers: '128MB',
  max_prepared_transactions: 50,
  // As operators set it who wait for locks often.
  deadlock_timeout: '200ms',
};

/** Every instance has its own way to the database, to Redis and to its clients. */
async function installOnNetwork(options: InstallOptions, cleanUps: CleanUps, notes: string[]) {
  const database = await linkThroughProxies('database', options.instanceUrls, cleanUps);
  let redis: Awaited<ReturnType<typeof linkThroughProxies>> | undefined;
  if (REDIS.find() === undefined) notes.push('Redis is not installed: each instance counts its own limits');
  else {
    const server = await startRedis();
    cleanUps.add(() => server.remove());
    redis = await linkThroughProxies(
      'Redis',
      options.instanceUrls.map(() => server.url),
      cleanUps,
    );
  }
  const behind = await installBehindProxies(
    { ...options, instanceUrls: database.urls, ...(redis && { redisUrls: redis.urls }) },
    cleanUps,
  );
  return { ...behind, links: [...database.links, ...(redis?.links ?? []), ...behind.links] };
}

const preparePostgres: Prepare = async (options, organisation, cleanUps, { env = {}, onLogLine } = {}) => {
  const notes: string[] = [];
  const server = await startPostgres({ settings: SETTINGS });
  cleanUps.add(() => server.remove());
  await withClient(server.url, (client) => client.query('CREATE DATABASE leadtap_soak'));
  const url = new URL(server.url);
  url.pathname = '/leadtap_soak';
  const databaseUrl = url.href;
  const instanceUrls = Array.from({ length: options.instances }, () => databaseUrl);
  if (options.actors.has('pgbouncer')) {
    if (PGBOUNCER.find() === undefined) notes.push('PgBouncer is not installed: no instance goes through it');
    else {
      const pool = await startPgBouncer({ upstream: databaseUrl, settings: { default_pool_size: 30 } });
      cleanUps.add(() => pool.remove());
      instanceUrls[0] = pool.url;
      notes.push('instance 1 goes through PgBouncer in transaction mode');
    }
  }
  const folder = await makeFolder(cleanUps);
  const installOptions = { folder, databaseUrl, organisation, env, onLogLine };
  const { installation, links } = options.actors.has('network')
    ? await installOnNetwork({ ...installOptions, instanceUrls }, cleanUps, notes)
    : { installation: await install({ ...installOptions, instanceUrls }, cleanUps), links: [] };
  const setClockOffset = options.actors.has('clock') ? await installSteppedClock(databaseUrl) : undefined;
  if (options.mutation) await mutatePostgres(databaseUrl, options.mutation as PostgresMutation);
  return {
    installation,
    databaseUrl,
    // Writers wait longer than a service would: a busy machine is no fault.
    openStore: () =>
      openPostgresStore({
        url: databaseUrl,
        connections: 4,
        migrate: false,
        connectLimitMs: 60_000,
        queryLimitMs: 60_000,
      }),
    readStored: readStoredFrom(
      databaseUrl,
      organisation.companies.map(({ id }) => id),
    ),
    deleteCompany: deleteCompanyFrom(databaseUrl),
    setClockOffset,
    server,
    links,
    notes,
  };
};

const prepareSqlite: Prepare = async (options, organisation, cleanUps, { env = {}, onLogLine } = {}) => {
  const folder = await makeFolder(cleanUps);
  const file = join(folder, 'leadtap.db');
  const databaseUrl = `sqlite:${file}`;
  const clock = options.actors.has('clock') ? await steppedProcessClock(folder) : undefined;
  const isMissing = options.actors.has('clock') && !clock;
  const instanceUrls = Array.from({ length: options.instances }, () => databaseUrl);
  const installOptions = { folder, databaseUrl, instanceUrls, organisation, onLogLine };
  const allOptions = { ...installOptions, env: { ...clock?.env, ...env } };
  const { installation, links } = options.actors.has('network')
    ? await installBehindProxies(allOptions, cleanUps)
    : { installation: await install(allOptions, cleanUps), links: [] };
  if (options.mutation) await mutateSqlite(file, options.mutation as SqliteMutation);
  return {
    installation,
    databaseUrl,
    openStore: () =>
      openSqliteStore({ file, migrate: false, clock: () => Date.now() + (clock?.offsetMs() ?? 0) }),
    readStored: readStoredFromFile(file),
    deleteCompany: deleteCompanyFromFile(file),
    setClockOffset: clock?.setOffset,
    server: undefined,
    links,
    notes: isMissing ? ['libfaketime is not installed: no clock steps here'] : [],
  };
};

export const PREPARE: Readonly<Record<SoakOptions['store'], Prepare>> = {
  postgres: preparePostgres,
  sqlite: prepareSqlite,
};
