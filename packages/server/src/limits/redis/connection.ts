import { messageOf, systemCode } from '../../system-error.ts';
import {
  CONNECT_TIMEOUTS,
  type ConnectTimeouts,
  connectRedis,
  consumeAll,
  type RedisClient,
} from './client.ts';
import type { Question } from './consume-all.ts';
import { InactivityTimer } from './inactivity-timer.ts';
import { NoAnswerError } from './with-timeout.ts';

export interface ConnectionLog {
  warn(details: object, message: string): void;
  info(details: object, message: string): void;
  debug(details: object, message: string): void;
}

export interface RedisTimeouts extends ConnectTimeouts {
  /** Without any answer of Redis for so long, waiting requests continue without it. */
  readonly silenceMs: number;
  /** Between two attempts to get Redis back. */
  readonly retryMs: number;
}

interface RedisConnectionOptions {
  readonly url: string;
  readonly log: ConnectionLog;
  readonly timeouts?: RedisTimeouts | undefined;
}

export const REDIS_TIMEOUTS: RedisTimeouts = { ...CONNECT_TIMEOUTS, silenceMs: 150, retryMs: 500 };

/**
 * Redis is here or away. Any failure takes it away for everybody at once, so that only those who were waiting at that
 * moment have waited; attempts in the background bring it back.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #closing = new AbortController();
  readonly #timeouts: RedisTimeouts;
  readonly #silence: InactivityTimer;
  #waiting = 0;
  #client: RedisClient | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isAway = false;

  private constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#timeouts = options.timeouts ?? REDIS_TIMEOUTS;
    const { silenceMs } = this.#timeouts;
    this.#silence = new InactivityTimer(silenceMs, () =>
      this.#lose(this.#client, new NoAnswerError(silenceMs)),
    );
  }

  /** After the first attempt, whatever came of it. */
  static async open(options: RedisConnectionOptions): Promise<RedisConnection> {
    const connection = new RedisConnection(options);
    await connection.#connect();
    return connection;
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Rejects at once while Redis is away, and soon when it falls silent. */
  async consumeAll(question: Question): Promise<readonly number[]> {
    const client = this.#client;
    if (!client) throw new Error('Redis is away');
    this.#waiting += 1;
    if (this.#waiting === 1) this.#silence.restart();
    try {
      return await consumeAll(client, question);
    } catch (error) {
      this.#lose(client, error);
      throw error;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#silence.stop();
      else this.#silence.restart();
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
      const client = await connectRedis(this.#options.url, this.#closing.signal, this.#timeouts);
      this.#client = client;
      client.on('error', (error) => this.#lose(client, error));
      this.#comeBack();
    } catch (error) {
      this.#goAway(error);
    }
  }

  /** Of all that fail together only the first one is news. */
  #lose(client: RedisClient | undefined, error: unknown): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    client.destroy();
    this.#goAway(error);
  }

  #goAway(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const { log } = this.#options;
    const reason = messageOf(error) || systemCode(error) || 'unknown';
    // One line when it goes and one when it is back, however often it is asked in between.
    if (this.#isAway) log.debug({ reason }, 'Redis is still away');
    else log.warn({ reason }, 'Redis is away: until it is back, each instance limits by itself');
    this.#isAway = true;
    this.#retry = setTimeout(() => void this.#connect(), this.#timeouts.retryMs).unref();
  }

  #comeBack(): void {
    if (this.#isAway) this.#options.log.info({}, 'Redis is back: the limits are shared again');
    this.#isAway = false;
  }
}
