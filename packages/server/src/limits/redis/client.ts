import { createClient, ErrorReply } from '@redis/client';
import { messageOf } from '../../system-error.ts';
import { CONSUME_ALL, type Question, readAnswer, toArguments } from './consume-all.ts';
import { within } from './with-timeout.ts';

/** One connection to Redis or Valkey; what it was given to do is rejected when the connection ends. */
export type RedisClient = ReturnType<typeof makeClient>;

export interface ConnectTimeouts {
  /** To a host that does not answer; the rest of the attempt is for the handshake and the proof. */
  readonly connectMs: number;
  readonly attemptMs: number;
}

export const CONNECT_TIMEOUTS: ConnectTimeouts = { connectMs: 700, attemptMs: 1000 };

function makeClient(url: string, connectMs: number) {
  const client = createClient({
    url,
    // Understood by everything that speaks Redis, proxies too. Nothing here needs version 3.
    RESP: 2,
    clientInfoTag: 'leadtap',
    // The client's own limit is for the sending alone, and costs as much again as the question. Ours is for the answer.
    commandOptions: { timeout: 0 },
    disableOfflineQueue: true,
    socket: {
      connectTimeout: connectMs,
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
export async function connectRedis(
  url: string,
  signal: AbortSignal,
  { connectMs, attemptMs }: ConnectTimeouts = CONNECT_TIMEOUTS,
): Promise<RedisClient> {
  const client = makeClient(url, connectMs);
  const abandon = () => {
    // A client that is destroyed before it has its socket would go on, and might wait for a handshake for ever.
    client.once('connect', () => client.destroy());
    client.destroy();
  };
  signal.addEventListener('abort', abandon);
  try {
    await within(attemptMs, client.connect().then(prove));
    signal.throwIfAborted();
    return client;
  } catch (error) {
    abandon();
    throw withoutPassword(error, url);
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

/**
 * The script itself, on a window that is never full and so is always written: a replica, a full memory or a missing
 * right must keep Redis away, instead of letting it back for the next request to find out.
 */
const prove = (client: RedisClient): Promise<unknown> => consumeAll(client, PROOF);

const PROOF: Question = {
  policies: [{ name: 'proof', windowS: 1, quota: Number.MAX_SAFE_INTEGER }],
  keys: ['leadtap:{limits}:proof'],
};

/**
 * Servers repeat what they do not understand, and the password may be among it. It is sent while connecting and never
 * again, so no later error can bring it along.
 */
function withoutPassword(error: unknown, url: string): unknown {
  const password = decodeURIComponent(new URL(url).password);
  const message = messageOf(error);
  const isTold = password !== '' && message.includes(password);
  return isTold ? new Error(message.replaceAll(password, '…')) : error;
}

/** Rejects when Redis fails, and also when it answers something else than the script does. */
export async function consumeAll(client: RedisClient, question: Question): Promise<readonly number[]> {
  return readAnswer(question, await runScript(client, question));
}

/** By its hash where Redis knows the script, which spares sending and hashing its text. */
async function runScript(client: RedisClient, question: Question): Promise<unknown> {
  const { text, sha1 } = CONSUME_ALL;
  try {
    return await client.evalSha(sha1, toArguments(question));
  } catch (error) {
    if (error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))
      return client.eval(text, toArguments(question));
    throw error;
  }
}
