import type { Clock } from '../../clock.ts';
import { FallbackLimiter } from '../fallback-limiter.ts';
import type { Limiter, Policy } from '../limiter.ts';
import { type ConnectionLog, RedisConnection } from './connection.ts';
import { RedisLimiter } from './limiter.ts';

interface SharedLimitsOptions {
  readonly url: string;
  /** For what this process remembers. The windows themselves go by the clock of Redis. */
  readonly clock: Clock;
  readonly log: ConnectionLog;
}

/** The limiters that go through one connection to Redis, with memory behind them. */
export class SharedLimits {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  #fallbacks = 0;

  private constructor(connection: RedisConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  static async open({ clock, url, log }: SharedLimitsOptions): Promise<SharedLimits> {
    return new SharedLimits(await RedisConnection.open({ url, log }), clock);
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
      clock: this.#clock,
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
