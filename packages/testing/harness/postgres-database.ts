import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { inject } from 'vitest';
import type { DatabaseOptions, EngineDatabase } from './engine-database.ts';
import { PostgresClock } from './postgres-clock.ts';
import { databaseUrl, findTemplate } from './postgres-template.ts';
import { sharedServer } from './shared-servers.ts';
import type { WhenDone } from './temp-folder.ts';

interface Server {
  readonly url: string;
  readonly administrator: Pool;
  /** How it copies a database. */
  readonly strategy: string;
}

let shared: Promise<Server> | undefined;

/** Found once in a process. */
function findServer(): Promise<Server> {
  shared ??= sharedServer('postgres').then(async (url) => {
    const administrator = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
    administrator.on('error', () => undefined);
    const { rows } = await administrator.query('SHOW server_version_num');
    // From version 15 on the default is to log each page, which takes twice as long as a copy of the files.
    const strategy = Number(rows[0].server_version_num) < 150_000 ? '' : 'STRATEGY FILE_COPY';
    return { url, administrator, strategy };
  });
  return shared;
}

/** A database in the cluster that all tests share: a copy of one that was migrated once, which takes some 30 ms. */
async function create({ url, administrator, strategy }: Server, empty: boolean): Promise<string> {
  const template = empty ? 'template0' : await findTemplate(administrator, url);
  const name = `${inject('runName')}_${randomBytes(6).toString('hex')}`;
  await administrator.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`);
  return name;
}

let next: Promise<string> | undefined;

/** One is always made while a test uses the one before it. */
function takeNext(server: Server): Promise<string> {
  const taken = next ?? create(server, false);
  next = taken.then(() => create(server, false));
  // The connection that gets it is notified.
  next.catch(() => undefined);
  return taken;
}

export async function makePostgresDatabase(
  whenDone: WhenDone,
  { empty = false }: DatabaseOptions,
): Promise<EngineDatabase> {
  const server = await findServer();
  const name = await (empty ? create(server, true) : takeNext(server));
  // Not awaited: what is left at the end of a run goes with the cluster.
  whenDone(
    () => void server.administrator.query(`DROP DATABASE ${name} WITH (FORCE)`).catch(() => undefined),
  );
  const url = databaseUrl(server.url, name);
  const clock = new PostgresClock(url);
  return {
    url,
    // Enough for all that a check begins at once: on a slow machine the last would wait too long for a connection.
    settings: { LEADTAP_DATABASE_CONNECTIONS: '25' },
    useClock: (source) => clock.use(source),
    stopClock: (at) => clock.stop(at),
    addNewerMigration: () => addNewerMigration(url),
    deleteLead: (companyId, id) => deleteLead(url, companyId, id),
    moveLead: async (companyId, id, branchId, beforeCommit) => {
      const client = await connect(url);
      await client.query('BEGIN');
      await client.query('UPDATE leadtap.leads SET branch_id = $3 WHERE company_id = $1 AND id = $2', [
        ...[companyId, id, branchId],
      ]);
      await beforeCommit?.();
      await client.query('COMMIT');
      await client.end();
    },
    addCheck: async (name, condition) => {
      const client = await connect(url);
      await client.query(`ALTER TABLE leadtap.leads ADD CONSTRAINT ${name} CHECK (${condition})`);
      await client.end();
    },
    holdLock: (companyId) => holdLock(url, companyId),
  };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // It may still be connected when the test ends and the database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function addNewerMigration(url: string): Promise<void> {
  const client = await connect(url);
  await client.query(
    `INSERT INTO leadtap.migrations (version, name, checksum, functions)
     SELECT max(version) + 1, 'newer.sql', '', '' FROM leadtap.migrations`,
  );
  await client.end();
}

async function deleteLead(url: string, companyId: string, id: string): Promise<void> {
  const client = await connect(url);
  await client.query('DELETE FROM leadtap.leads WHERE company_id = $1 AND id = $2', [companyId, id]);
  await client.end();
}

async function holdLock(url: string, companyId: string): Promise<() => Promise<void>> {
  const client = await connect(url);
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock($1))', [
    companyId,
  ]);
  return () => client.end();
}
