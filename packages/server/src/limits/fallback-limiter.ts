import type { Clock } from '../clock.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { RecentRefusals } from './recent-refusals.ts';

interface FallbackOptions {
  readonly shared: Limiter;
  readonly inMemory: Limiter;
  readonly isUp: () => boolean;
  readonly onFallback: () => void;
  readonly clock: Clock;
}

/** Never rejects for want of the shared limiter: a poll is worth more than an exact limit. */
export class FallbackLimiter implements Limiter {
  readonly #options: FallbackOptions;
  readonly #refusals: RecentRefusals;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.#refusals = new RecentRefusals(options.clock);
  }

  async consume(key: string): Promise<Verdict> {
    const { shared, inMemory, isUp, onFallback } = this.#options;
    if (isUp()) {
      try {
        return this.#refusals.remember(key, await shared.consume(key));
      } catch {
        // The connection knows of it, and tells: nothing fails outside of it.
      }
    }
    onFallback();
    return inMemory.consume(key);
  }

  isExhausted(key: string): boolean {
    const { inMemory, isUp } = this.#options;
    return isUp() ? this.#refusals.has(key) : inMemory.isExhausted?.(key) === true;
  }
}
