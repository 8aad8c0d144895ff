import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the servers that all tests share are asked for. */
    readonly sharedServers: string;
    /** Begins the name of everything that this run makes in them. */
    readonly runName: string;
  }
}

interface SharedServer {
  readonly url: string;
  remove(): Promise<void>;
}

/** What is lost in a crash of the machine is of no use to a test. */
const FAST = { fsync: 'off', full_page_writes: 'off', max_connections: 300, max_prepared_transactions: 50 };

// A client is loaded by the first test that needs its server: most runs of a folder need none.
const STARTS: Readonly<Record<string, (runName: string) => Promise<SharedServer>>> = {
  '/postgres': async (runName) => {
    const url = process.env['TEST_POSTGRES_URL'];
    if (url) return { url, remove: () => dropDatabases(url, runName) };
    const { startPostgres } = await import('./postgres.ts');
    return startPostgres({ settings: FAST });
  },
  '/redis': async () => {
    const url = process.env['TEST_REDIS_URL'];
    if (url) return { url, remove: async () => undefined };
    const { startRedis } = await import('./redis.ts');
    return startRedis();
  },
};

/** What tests created in a server that is still running. */
async function dropDatabases(url: string, runName: string): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ datname: string }>(
    'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
    [runName],
  );
  // Some may just be dropped by the test that made them.
  for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  await client.end();
}

/**
 * One PostgreSQL and one Redis for all tests of a run, in whichever process they are. Each is started when the first
 * test asks for it, so that a run neither waits for nor needs a server that none of its tests uses.
 */
export default async function shareServers(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Called for each project as well, but what the root provides, all of them have.
  if (!project.isRootProject()) return undefined;
  const runName = `leadtap_test_${randomBytes(4).toString('hex')}`;
  const started = new Map<string, Promise<SharedServer>>();
  const find = (path: string) => {
    const server =
      started.get(path) ?? STARTS[path]?.(runName) ?? Promise.reject(new Error(`no server ${path}`));
    started.set(path, server);
    return server;
  };
  const desk = createServer(({ url = '' }, response) => {
    find(url).then(
      (server) => response.end(server.url),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  project.provide('sharedServers', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  project.provide('runName', runName);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    for (const server of await Promise.allSettled(started.values()))
      if (server.status === 'fulfilled') await server.value.remove();
  };
}
