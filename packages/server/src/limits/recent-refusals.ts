import type { Clock } from '../clock.ts';
import type { Verdict } from './limiter.ts';

/** Enough for those who hammer; whoever is forgotten is merely asked about again. */
const MOST = 10_000;

/** Whom the shared limiter refused, for as long as the refusal is sure to last. */
export class RecentRefusals {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  remember(key: string, verdict: Verdict): Verdict {
    // Rounded up to whole seconds, so the last one is not sure.
    const sureMs = (verdict.retryAfterS - 1) * 1000;
    this.#until.delete(key);
    if (sureMs > 0) this.#until.set(key, this.#clock() + sureMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST && oldest !== undefined) this.#until.delete(oldest);
    return verdict;
  }

  has(key: string): boolean {
    return this.#clock() < (this.#until.get(key) ?? 0);
  }
}
