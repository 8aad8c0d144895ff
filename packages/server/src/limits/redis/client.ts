import { createClient, ErrorReply } from '@redis/client';
import { CONSUME_ALL, type LuaScript } from './consume-all.ts';
import { within } from './within.ts';

/** One connection to Redis or Valkey; what it was given to do is rejected when the connection ends. */
export type RedisClient = ReturnType<typeof makeClient>;

/** To a host that does not answer; the rest of the attempt is for the handshake and the proof. */
const CONNECT_MS = 700;
const ATTEMPT_MS = 1000;

function makeClient(url: string) {
  const client = createClient({
    url,
    // Understood by everything that speaks Redis, proxies too. Nothing here needs version 3.
    RESP: 2,
    clientInfoTag: 'leadtap',
    // The client's own limit is for the sending alone, and costs as much again as the question. Ours is for the answer.
    commandOptions: { timeout: 0 },
    disableOfflineQueue: true,
    socket: {
      connectTimeout: CONNECT_MS,
      // A new client for each attempt instead: the address is looked up anew, and a handshake that hangs has an end.
      reconnectStrategy: false,
      // Which certificate to show, for hosts with many. Left out for an address, which has no name.
      ...serverName(url),
    },
  });
  // Without a listener an error would end the process. What it broke is rejected as well.
  client.on('error', () => undefined);
  return client;
}

function serverName(url: string): { servername?: string } {
  const { hostname, protocol } = new URL(url);
  const isName = /[a-z]/i.test(hostname) && !hostname.startsWith('[');
  return protocol === 'rediss:' && isName ? { servername: hostname } : {};
}

/** A connection that is proved to work. Rejects within bounded time otherwise, and leaves nothing open. */
export async function connectRedis(url: string, signal: AbortSignal): Promise<RedisClient> {
  const client = makeClient(url);
  const abandon = () => {
    // A client that is destroyed before it has its socket would go on, and might wait for a handshake for ever.
    client.once('connect', () => client.destroy());
    client.destroy();
  };
  signal.addEventListener('abort', abandon);
  try {
    await within(ATTEMPT_MS, client.connect().then(prove));
    signal.throwIfAborted();
    return client;
  } catch (error) {
    abandon();
    throw error;
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

/**
 * The script itself, on a window that is never full and so is always written: a replica, a full memory or a missing
 * right must keep Redis away, instead of letting it back for the next request to find out.
 */
const prove = (client: RedisClient): Promise<unknown> =>
  evaluate(client, CONSUME_ALL, ['leadtap:limits:proof'], ['1', String(Number.MAX_SAFE_INTEGER)]);

/** By its name where Redis knows the script, which spares sending and hashing its text. */
export async function evaluate(
  client: RedisClient,
  { text, sha1 }: LuaScript,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const options = { keys: [...keys], arguments: [...args] };
  try {
    return await client.evalSha(sha1, options);
  } catch (error) {
    if (error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))
      return client.eval(text, options);
    throw error;
  }
}
