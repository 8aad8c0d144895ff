import type { Clock } from '../clock.ts';
import type { Limiter, Policy, Verdict } from './limiter.ts';
import { toVerdict } from './verdict.ts';

interface Window {
  used: number;
  endsAt: number;
}

/**
 * Fixed windows that begin with the first request. Kept in two generations: what was not touched during a
 * whole longest window has ended, so the older generation is dropped at once, without a timer for each key.
 */
export class MemoryLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #clock: Clock;
  readonly #generationMs: number;
  #current = new Map<string, Window[]>();
  #previous = new Map<string, Window[]>();
  #currentEndsAt: number;

  constructor(policies: readonly Policy[], clock: Clock) {
    this.#policies = policies;
    this.#clock = clock;
    this.#generationMs = 1000 * Math.max(...policies.map(({ windowS }) => windowS));
    this.#currentEndsAt = clock() + this.#generationMs;
  }

  async consume(key: string): Promise<Verdict> {
    const now = this.#clock();
    const windows = this.#windowsOf(key, now);
    const full = this.#policies.map(({ quota }, i) => (windows[i]?.used ?? 0) >= quota);
    if (!full.includes(true)) for (const window of windows) window.used += 1;
    return toVerdict(
      this.#policies.map((policy, i) => {
        const { used, endsAt } = windows[i] ?? { used: 0, endsAt: now };
        return { policy, used, endsInMs: endsAt - now, isFull: full[i] === true };
      }),
    );
  }

  isExhausted(key: string): boolean {
    const now = this.#clock();
    const windows = this.#current.get(key) ?? this.#previous.get(key) ?? [];
    return this.#policies.some(({ quota, windowS }, i) => {
      const window = windows[i];
      return window !== undefined && window.used >= quota && isOpen(window, windowS, now);
    });
  }

  #windowsOf(key: string, now: number): Window[] {
    this.#turnGeneration(now);
    const known = this.#current.get(key) ?? this.#previous.get(key);
    const windows = this.#policies.map(({ windowS }, i) => {
      const window = known?.[i];
      return window && isOpen(window, windowS, now) ? window : { used: 0, endsAt: now + windowS * 1000 };
    });
    this.#current.set(key, windows);
    return windows;
  }

  #turnGeneration(now: number): void {
    const remainingMs = this.#currentEndsAt - now;
    // A generation that ends further away than it is long was begun before the clock was set back.
    if (remainingMs > 0 && remainingMs <= this.#generationMs) return;
    this.#previous = remainingMs <= -this.#generationMs ? new Map() : this.#current;
    this.#current = new Map();
    this.#currentEndsAt = now + this.#generationMs;
  }
}

/** A window that ends further away than it is long was begun before the clock was set back. */
const isOpen = ({ endsAt }: Window, windowS: number, now: number): boolean =>
  now < endsAt && endsAt <= now + windowS * 1000;
