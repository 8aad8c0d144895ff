import { Client } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { ownPostgres } from '../../../../testing/harness/own-servers.ts';
import type { PostgresServer } from '../../../../testing/servers/postgres.ts';

/** No server asks for it: output that contains it was taken from the address. */
export const PASSWORD = 'hunter2-hunter2';

/** A cluster for the tests of one file: a durable one, and no other test changes its roles. */
export function ownCluster() {
  const ends: (() => unknown)[] = [];
  let server: PostgresServer | undefined;
  let made = 0;

  beforeAll(async () => {
    server = await ownPostgres({}, (end) => ends.push(end));
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  const address = (user: string, database: string) =>
    `postgres://${user}:${PASSWORD}@127.0.0.1:${server?.port}/${database}`;

  /** As the superuser. */
  async function sql(statements: string, database = 'postgres'): Promise<void> {
    const client = new Client(address('postgres', database));
    await client.connect();
    await client.query(statements);
    await client.end();
  }

  /** The name of a database without the schema. Dropped when the test ends. */
  async function emptyDatabase(options = ''): Promise<string> {
    made += 1;
    const name = `database_${made}`;
    await sql(`CREATE DATABASE ${name} ${options}`);
    onTestFinished(() => sql(`DROP DATABASE ${name} WITH (FORCE)`));
    return name;
  }

  return { address, sql, emptyDatabase };
}
