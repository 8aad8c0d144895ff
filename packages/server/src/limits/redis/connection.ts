import { createClient, ErrorReply } from '@redis/client';
import { messageOf, systemCode } from '../../lib/system-error.ts';
import { InactivityTimer, NoReplyError, withTimeout } from '../../lib/timeout.ts';
import { type ConsumeRequest, parseReply, SCRIPT, SCRIPT_SHA1, toArguments } from './script.ts';

export interface ConnectionLog {
  warn(details: object, message: string): void;
  info(details: object, message: string): void;
  debug(details: object, message: string): void;
}

export interface RedisTimeouts {
  /** For the TCP connection. */
  readonly connectMs: number;
  /** For a whole attempt: connection, handshake and self-test. */
  readonly attemptMs: number;
  /** While requests wait and Redis sends no reply for this long, it counts as unavailable. */
  readonly silenceMs: number;
  /** Between two attempts to connect again. */
  readonly retryMs: number;
}

export const REDIS_TIMEOUTS: RedisTimeouts = {
  connectMs: 700,
  attemptMs: 1000,
  silenceMs: 150,
  retryMs: 500,
};

export interface RedisConnectionOptions {
  readonly url: string;
  readonly log: ConnectionLog;
  readonly timeouts?: RedisTimeouts | undefined;
}

/**
 * A connection that is up or down. Any failure takes it down for all requests at once, so that only those that waited at that
 * moment were delayed; it reconnects in the background.
 */
export class RedisConnection {
  readonly #url: string;
  readonly #log: ConnectionLog;
  readonly #timeouts: RedisTimeouts;
  readonly #closing = new AbortController();
  readonly #silence: InactivityTimer;
  #unanswered = 0;
  #client: RedisClient | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isDownLogged = false;

  private constructor({ url, log, timeouts = REDIS_TIMEOUTS }: RedisConnectionOptions) {
    this.#url = url;
    this.#log = log;
    this.#timeouts = timeouts;
    this.#silence = new InactivityTimer(() =>
      this.#disconnect(this.#client, new NoReplyError(timeouts.silenceMs)),
    );
  }

  /** Resolves after the first attempt, successful or not. */
  static async open(options: RedisConnectionOptions): Promise<RedisConnection> {
    const connection = new RedisConnection(options);
    await connection.#connect();
    return connection;
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Rejects at once while the connection is down, and after `silenceMs` when Redis hangs. */
  async consumeAll(request: ConsumeRequest): Promise<readonly number[]> {
    const client = this.#client;
    if (!client) throw new Error('Redis is unavailable');
    this.#unanswered += 1;
    if (this.#unanswered === 1) this.#silence.restart(this.#timeouts.silenceMs);
    try {
      return await runScript(client, request);
    } catch (error) {
      this.#disconnect(client, error);
      throw error;
    } finally {
      this.#unanswered -= 1;
      if (this.#unanswered === 0) this.#silence.stop();
      else this.#silence.restart(this.#timeouts.silenceMs);
    }
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#retry);
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #connect(): Promise<void> {
    try {
      const client = await connectRedis(this.#url, this.#closing.signal, this.#timeouts);
      this.#client = client;
      client.on('error', (error) => this.#disconnect(client, error));
      if (this.#isDownLogged) this.#log.info({}, 'Redis is reachable again: the limits are shared');
      this.#isDownLogged = false;
    } catch (error) {
      this.#retryLater(error);
    }
  }

  /** Of several requests that fail together, only the first one does anything. */
  #disconnect(client: RedisClient | undefined, error: unknown): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    client.destroy();
    this.#retryLater(error);
  }

  #retryLater(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const reason = messageOf(error) || systemCode(error) || 'unknown';
    // One warning for each outage, however many attempts to reconnect fail.
    if (this.#isDownLogged) this.#log.debug({ reason }, 'Redis is still unavailable');
    else this.#log.warn({ reason }, 'Redis is unavailable: until it is back, each instance limits by itself');
    this.#isDownLogged = true;
    this.#retry = setTimeout(() => void this.#connect(), this.#timeouts.retryMs).unref();
  }
}

/** One connection to Redis or Valkey. Pending commands are rejected when the connection ends. */
type RedisClient = ReturnType<typeof createRedisClient>;

function createRedisClient(url: string, connectMs: number) {
  const client = createClient({
    url,
    // Everything that speaks Redis understands version 2, proxies too.
    RESP: 2,
    clientInfoTag: 'leadtap',
    // The timeout of the client covers only the sending, and doubles the cost of a command. `InactivityTimer` covers the reply.
    commandOptions: { timeout: 0 },
    disableOfflineQueue: true,
    socket: {
      connectTimeout: connectMs,
      // Each attempt has a new client instead: it resolves the address again, and a handshake that hangs has a timeout.
      reconnectStrategy: false,
      // For TLS servers with several certificates. Only for host names: an address has no server name.
      ...serverName(url),
    },
  });
  // Without a listener an error would end the process. The commands that it affects are rejected as well.
  client.on('error', () => undefined);
  return client;
}

function serverName(url: string): { servername?: string } {
  const { hostname, protocol } = new URL(url);
  const isName = /[a-z]/i.test(hostname) && !hostname.startsWith('[');
  return protocol === 'rediss:' && isName ? { servername: hostname } : {};
}

/** A connection that has passed the self-test. Rejects within `attemptMs` otherwise, and leaves nothing open. */
async function connectRedis(
  url: string,
  signal: AbortSignal,
  { connectMs, attemptMs }: RedisTimeouts,
): Promise<RedisClient> {
  const client = createRedisClient(url, connectMs);
  const abort = () => {
    // A client that is destroyed before its socket is connected would continue, and might wait for a handshake for ever.
    client.once('connect', () => client.destroy());
    client.destroy();
  };
  signal.addEventListener('abort', abort);
  try {
    await withTimeout(attemptMs, client.connect().then(selfTest));
    signal.throwIfAborted();
    return client;
  } catch (error) {
    abort();
    throw redactPassword(error, url);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Runs the script on a window that is never full and therefore always written. A replica, a full memory or a missing permission
 * fails here, and not in the next request.
 */
const selfTest = (client: RedisClient): Promise<unknown> =>
  runScript(client, {
    policies: [{ name: 'self-test', windowS: 1, quota: Number.MAX_SAFE_INTEGER }],
    keys: ['leadtap:{limits}:self-test'],
    units: [1],
  });

/** Calls the script by its hash, and sends its text only if Redis does not have it. */
async function runScript(client: RedisClient, request: ConsumeRequest): Promise<readonly number[]> {
  const options = toArguments(request);
  const reply = await client.evalSha(SCRIPT_SHA1, options).catch((error: unknown) => {
    if (error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))
      return client.eval(SCRIPT, options);
    throw error;
  });
  return parseReply(request, reply);
}

/**
 * Servers repeat commands that they do not understand, and the password may be among them. It is sent only while connecting, so
 * no later error can contain it.
 */
function redactPassword(error: unknown, url: string): unknown {
  const password = decodeURIComponent(new URL(url).password);
  const message = messageOf(error);
  const hasPassword = password !== '' && message.includes(password);
  return hasPassword ? new Error(message.replaceAll(password, '…')) : error;
}

/** For the doctor: connects, runs the self-test, and reads the version of Redis or Valkey. */
export async function probeRedis(url: string): Promise<{ readonly version: string }> {
  const client = await connectRedis(url, new AbortController().signal, REDIS_TIMEOUTS);
  try {
    // The limits do not need the permission for INFO, so it may be rejected.
    const info = await withTimeout(REDIS_TIMEOUTS.attemptMs, client.info('server')).catch(() => '');
    // Valkey also reports the version of the Redis that it is compatible with.
    const found = /^valkey_version:(\S+)/m.exec(info) ?? /^redis_version:(\S+)/m.exec(info);
    return { version: found?.[1] ?? 'unknown' };
  } finally {
    client.destroy();
  }
}
