import type { Clock } from '../clock.ts';
import { type Limiter, type Policy, toVerdict, type Verdict } from './limiter.ts';

/**
 * So many users or addresses are counted at a time, with about 200 bytes each. One more evicts the one that has been inactive for
 * longest. It then has its full quota again, which is better than to reject a user who has not used it up. An installation with more
 * active users shares its limits over Redis, which counts all of them.
 */
export const MAX_KEYS = 200_000;

/** Two numbers for each policy: the units used in the window, and the time at which the window ends. */
type Windows = number[];

/** Fixed windows that begin with the first request, in the memory of this process. */
export class MemoryLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #clock: Clock;
  readonly #maxKeys: number;
  /** In the order in which the last window of each key began. */
  readonly #windows = new Map<string, Windows>();

  constructor(policies: readonly Policy[], clock: Clock, maxKeys: number = MAX_KEYS) {
    this.#policies = policies;
    this.#clock = clock;
    this.#maxKeys = maxKeys;
  }

  consume(key: string): Verdict {
    const now = this.#clock();
    const windows = this.#openWindows(key, now);
    const isRejected = this.#policies.some(({ quota }, index) => (windows[2 * index] ?? 0) >= quota);
    if (!isRejected) for (let i = 0; i < windows.length; i += 2) windows[i] = (windows[i] ?? 0) + 1;
    const counts = windows.map((value, index) => (index % 2 === 0 ? value : value - now));
    return toVerdict(this.#policies, counts, 0, isRejected);
  }

  /** The windows of a key. Those that have ended begin again now. */
  #openWindows(key: string, now: number): Windows {
    const windows = this.#windows.get(key) ?? Array.from({ length: 2 * this.#policies.length }, () => 0);
    let hasBegun = false;
    for (const [index, { windowS }] of this.#policies.entries()) {
      if (isOpen(windows[2 * index + 1] ?? 0, now, windowS)) continue;
      windows[2 * index] = 0;
      windows[2 * index + 1] = now + windowS * 1000;
      hasBegun = true;
    }
    if (hasBegun) {
      this.#windows.delete(key);
      this.#makeRoom(now);
      this.#windows.set(key, windows);
    }
    return windows;
  }

  /** Removes keys without an open window, and the first key if there are too many. */
  #makeRoom(now: number): void {
    for (const [key, windows] of this.#windows) {
      const hasOpenWindow = this.#policies.some(({ windowS }, index) =>
        isOpen(windows[2 * index + 1] ?? 0, now, windowS),
      );
      if (hasOpenWindow && this.#windows.size < this.#maxKeys) return;
      this.#windows.delete(key);
    }
  }
}

/** A window that ends later than a new one would was begun before the clock was set back, and does not count. */
const isOpen = (endsAt: number, now: number, windowS: number): boolean =>
  endsAt > now && endsAt <= now + windowS * 1000;
