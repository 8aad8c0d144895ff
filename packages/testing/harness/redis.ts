import { createClient } from '@redis/client';
import { onTestFinished } from 'vitest';
import { type RedisServer, startRedis } from '../servers/redis.ts';
import { sharedServer } from './shared-servers.ts';
import type { WhenDone } from './temp-folder.ts';

export interface TestRedis {
  /** With the number of its database, so it can be a `LEADTAP_REDIS_URL`. */
  readonly url: string;
  readonly env: { readonly LEADTAP_REDIS_URL: string };
}

/** An empty database of the test's own, in the Redis that all tests share. For tests that kill Redis: `ownRedis`. */
export async function makeTestRedis(whenDone: WhenDone = onTestFinished): Promise<TestRedis> {
  const server = await sharedServer('redis');
  const client = createClient({ url: server });
  await client.connect();
  const { databases } = await client.configGet('databases');
  // In turn, and 0 is where the turns are counted.
  const turn = await client.incr('leadtap-test:turn');
  const number = 1 + (turn % (Number(databases) - 1));
  await client.select(number);
  await client.flushDb();
  whenDone(async () => {
    await client.flushDb();
    await client.close();
  });
  const url = new URL(server);
  url.pathname = `/${number}`;
  return { url: url.href, env: { LEADTAP_REDIS_URL: url.href } };
}

/** A server of one test's own, for tests that stop, kill or freeze it. */
export async function ownRedis(whenDone: WhenDone = onTestFinished): Promise<RedisServer> {
  const server = await startRedis();
  whenDone(() => server.remove());
  return server;
}
