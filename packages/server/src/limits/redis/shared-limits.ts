import { FallbackLimiter } from '../fallback-limiter.ts';
import type { Limiter, Policy } from '../limiter.ts';
import { type ConnectionLog, RedisConnection, type RedisTimeouts } from './connection.ts';
import { RedisLimiter } from './limiter.ts';

interface SharedLimitsOptions {
  readonly url: string;
  readonly log: ConnectionLog;
  readonly timeouts?: RedisTimeouts | undefined;
}

/** The limiters that go through one connection to Redis, with memory behind them. */
export class SharedLimits {
  readonly #connection: RedisConnection;
  #fallbacks = 0;

  private constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  static async open(options: SharedLimitsOptions): Promise<SharedLimits> {
    return new SharedLimits(await RedisConnection.open(options));
  }

  get isUp(): boolean {
    return this.#connection.isUp;
  }

  /** Requests that were limited from the memory of this process because Redis was away. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  limiter(policies: readonly Policy[], inMemory: Limiter): Limiter {
    const connection = this.#connection;
    return new FallbackLimiter({
      shared: new RedisLimiter(policies, connection),
      inMemory,
      isUp: () => connection.isUp,
      onFallback: () => {
        this.#fallbacks += 1;
      },
    });
  }

  close(): void {
    this.#connection.close();
  }
}
