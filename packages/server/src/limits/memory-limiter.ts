import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { type Limiter, type Policy, toVerdict, type Verdict } from './limiter.ts';

/**
 * So many users or addresses are counted at a time, with about 240 bytes each. With more, those that have been inactive for longest
 * are evicted. They then have their full quota again, which is better than to reject a user who has not used it up. An installation
 * with more active users shares its limits over Redis, which counts all of them.
 */
const MAX_KEYS = 200_000;

/** Two numbers for each policy: the units used in the window, and the time at which the window ends. */
type Windows = number[];

/** Fixed windows that begin with the first request, in the memory of this process. */
export class MemoryLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #clock: Clock;
  readonly #windows: LRUCache<string, Windows>;

  constructor(policies: readonly Policy[], clock: Clock, maxKeys: number = MAX_KEYS) {
    this.#policies = policies;
    this.#clock = clock;
    // `max` would allocate the memory of all keys at once.
    this.#windows = new LRUCache({ maxSize: maxKeys, sizeCalculation: () => 1 });
  }

  consume(key: string, units = 1): Verdict {
    const now = this.#clock();
    const windows = this.#findWindows(key);
    for (const [index, { windowS }] of this.#policies.entries()) {
      if (isOpen(windows[2 * index + 1] ?? 0, now, windowS)) continue;
      windows[2 * index] = 0;
      windows[2 * index + 1] = now + windowS * 1000;
    }
    const isRejected = this.#policies.some(({ quota }, index) => (windows[2 * index] ?? 0) + units > quota);
    if (!isRejected) for (let i = 0; i < windows.length; i += 2) windows[i] = (windows[i] ?? 0) + units;
    const counts = windows.map((value, index) => (index % 2 === 0 ? value : value - now));
    return toVerdict(this.#policies, counts, 0, isRejected, units);
  }

  #findWindows(key: string): Windows {
    const known = this.#windows.get(key);
    if (known) return known;
    const windows = Array.from({ length: 2 * this.#policies.length }, () => 0);
    this.#windows.set(key, windows);
    return windows;
  }
}

/** A window that ends later than a new one would was begun before the clock was set back, and does not count. */
const isOpen = (endsAt: number, now: number, windowS: number): boolean =>
  endsAt > now && endsAt <= now + windowS * 1000;
