import type { Limiter, Verdict } from './limiter.ts';

interface FallbackOptions {
  readonly shared: Limiter;
  readonly inMemory: Limiter;
  readonly isUp: () => boolean;
  readonly onFallback: () => void;
}

/** Never rejects for want of the shared limiter: a poll is worth more than an exact limit. */
export class FallbackLimiter implements Limiter {
  readonly #options: FallbackOptions;

  constructor(options: FallbackOptions) {
    this.#options = options;
  }

  consume(key: string): Verdict | Promise<Verdict> {
    return this.#options.isUp() ? this.#consumeShared(key) : this.#consumeInMemory(key);
  }

  async #consumeShared(key: string): Promise<Verdict> {
    try {
      return await this.#options.shared.consume(key);
    } catch {
      // The connection knows of it, and tells: nothing fails outside of it.
      return this.#consumeInMemory(key);
    }
  }

  #consumeInMemory(key: string): Verdict | Promise<Verdict> {
    this.#options.onFallback();
    return this.#options.inMemory.consume(key);
  }
}
