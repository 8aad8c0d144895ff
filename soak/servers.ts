import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { withClient } from '../packages/server/test/delivery/trial/with-client.ts';
import { startPostgres } from '../test/servers/postgres.ts';
import { startRedis } from '../test/servers/redis.ts';
import type { CleanUps } from './clean-ups.ts';

export interface Servers {
  /** Of a database of the soak's own. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** As the tests have them: those that the environment names, else private ones. PostgreSQL keeps its safe settings. */
export async function openServers(cleanUps: CleanUps): Promise<Servers> {
  const postgres = process.env['TEST_POSTGRES_URL'] ?? (await ownPostgres(cleanUps));
  const redisUrl = process.env['TEST_REDIS_URL'] ?? (await ownRedis(cleanUps));
  const name = `leadtap_soak_${randomBytes(4).toString('hex')}`;
  await execute(postgres, `CREATE DATABASE ${name}`);
  cleanUps.add(() => execute(postgres, `DROP DATABASE ${name} WITH (FORCE)`));
  const url = new URL(postgres);
  url.pathname = `/${name}`;
  return { databaseUrl: url.href, redisUrl };
}

async function ownPostgres(cleanUps: CleanUps): Promise<string> {
  const server = await startPostgres({ settings: { max_connections: 300, shared_buffers: '128MB' } });
  cleanUps.add(() => server.remove());
  return server.url;
}

async function ownRedis(cleanUps: CleanUps): Promise<string> {
  const server = await startRedis();
  cleanUps.add(() => server.remove());
  return server.url;
}

const execute = (url: string, statement: string): Promise<unknown> =>
  withClient(url, (client) => client.query(statement));
