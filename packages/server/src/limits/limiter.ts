import { RATE_LIMITS, USER_WINDOWS } from '@leadtap/contract';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

/** A limit: at most `quota` requests in a window of `windowS` seconds. */
export interface Policy {
  readonly name: string;
  readonly quota: number;
  readonly windowS: number;
}

/** For each user, over all tokens of the user. */
export const USER_POLICIES: readonly Policy[] = USER_WINDOWS;

/** For each user, over all tokens of the user: requests that send leads. */
export const INTAKE_POLICIES: readonly Policy[] = [RATE_LIMITS.intake];

/** For each user, over all tokens of the user: leads that are sent. */
export const INTAKE_LEAD_POLICIES: readonly Policy[] = [RATE_LIMITS.intakeLeads];

/** For each address, and only for rejected tokens: guessing tokens is slow, and good tokens are never limited by it. */
export const FAILED_TOKEN_POLICIES: readonly Policy[] = [RATE_LIMITS.failedTokens];

export interface WindowState {
  readonly policy: Policy;
  readonly remaining: number;
  /** Whole seconds until the window ends. */
  readonly resetS: number;
}

export interface Verdict {
  readonly windows: readonly WindowState[];
  /** The policies that reject the request; none means that it passes. */
  readonly violated: readonly string[];
  /** After this many whole seconds the request passes all policies. 0 when it passes now. */
  readonly retryAfterS: number;
}

/** The port: in the memory of one instance, or in a Redis that all instances share. */
export interface Limiter {
  /** Uses so many units of every policy, one by default, or, when one of them has fewer left, of none. */
  consume(key: string, units?: number): Verdict | Promise<Verdict>;
}

const NONE: readonly string[] = Object.freeze([]);

/**
 * @param counts two numbers for each policy, beginning at index `from`: the used units of the window after this request, and
 * the milliseconds until the window ends
 * @param isRejected at least one window had too few units left, so the request was counted in none
 */
export function toVerdict(
  policies: readonly Policy[],
  counts: readonly number[],
  from: number,
  isRejected: boolean,
  units = 1,
): Verdict {
  const windows: WindowState[] = [];
  let violated = NONE;
  let retryAfterS = 0;
  for (const policy of policies) {
    const index = from + 2 * windows.length;
    const used = counts[index] ?? 0;
    const resetS = Math.ceil((counts[index + 1] ?? 0) / 1000);
    windows.push({ policy, remaining: policy.quota - used, resetS });
    if (!isRejected || used + units <= policy.quota) continue;
    violated = [...violated, policy.name];
    retryAfterS = Math.max(retryAfterS, resetS);
  }
  return { windows, violated, retryAfterS };
}

/**
 * So many users or addresses that were active last are counted, with about 200 bytes each. With more,
 * those that have been inactive for longest are evicted. They then have their full quota again, which is better than to reject a
 * user who has not used it up. An installation with more active users shares its limits over Redis, which counts all of them.
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
    this.#windows = new LRUCache({ maxSize: maxKeys, sizeCalculation: () => 1 });
  }

  consume(key: string, units = 1): Verdict {
    const now = this.#clock();
    const windows = this.#findWindows(key);
    let isRejected = false;
    let at = 0;
    for (const { windowS, quota } of this.#policies) {
      if (!isOpen(windows[at + 1] ?? 0, now, windowS)) {
        windows[at] = 0;
        windows[at + 1] = now + windowS * 1000;
      }
      if ((windows[at] ?? 0) + units > quota) isRejected = true;
      at += 2;
    }
    if (!isRejected) for (let i = 0; i < at; i += 2) windows[i] = (windows[i] ?? 0) + units;
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
