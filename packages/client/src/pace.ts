import { MAX_WAIT_S } from './contract.ts';
import type { Environment } from './environment.ts';
import type { LeadtapError } from './errors.ts';
import type { Page } from './page.ts';
import { Allowance } from './rate-limits.ts';
import { LONGEST_HOLD_MS } from './retry-after.ts';

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

const MIN_WAIT_S = 5;
/** A request that fails sooner was not ended because it was silent for too long. */
const HELD_MS = 10_000;

/** When the next request follows: without a pause, as the rate limits allow it to be kept up, or after the interval. */
export type Following = 'at-once' | 'spaced' | 'after-interval';

/** When the next request is due. */
export class Pace {
  readonly #intervalMs: number;
  readonly #environment: Environment;
  readonly #allowance = new Allowance();
  #dueAt = 0;
  #heldUntil = 0;
  #failures = 0;
  #sentAt = 0;
  #waitS = MAX_WAIT_S;

  /** @param notBefore the `notBefore` of the saved checkpoint, in milliseconds */
  constructor(intervalMs: number, environment: Environment, notBefore: number) {
    this.#intervalMs = intervalMs;
    this.#environment = environment;
    // A clock that was wrong then must not stop the client for days now.
    if (notBefore - environment.now() <= LONGEST_HOLD_MS) this.#heldUntil = notBefore;
  }

  waitMs(): number {
    return Math.max(this.#dueAt, this.#holdsUntil(), 0) - this.#environment.now();
  }

  /** How long the service is asked to hold a request. Shorter behind a proxy that ends silent requests sooner. */
  get waitS(): number {
    return this.#waitS;
  }

  /** The service asked for no request before this moment; undefined when it did not, or when that is over. */
  notBefore(): number | undefined {
    const until = this.#holdsUntil();
    return until > this.#environment.now() ? until : undefined;
  }

  sent(): void {
    this.#sentAt = this.#environment.now();
    this.#allowance.sent();
  }

  answered({ rateLimits }: Pick<Page, 'rateLimits'>, next: Following): void {
    const now = this.#environment.now();
    this.#failures = 0;
    this.#allowance.update(rateLimits, now);
    if (next === 'at-once') this.#dueAt = 0;
    else this.#dueAt = this.#sentAt + (next === 'spaced' ? this.#allowance.spacingMs(now) : this.#intervalMs);
  }

  /** Backs off with full jitter, on top of what the service asked for. Gives how long the wait is. */
  failed({ rateLimits, retryAfterMs = 0 }: LeadtapError): number {
    const now = this.#environment.now();
    const heldMs = now - this.#sentAt;
    if (heldMs >= HELD_MS)
      this.#waitS = Math.min(this.#waitS, Math.max(MIN_WAIT_S, Math.floor(heldMs / 2000)));
    this.#allowance.update(rateLimits, now);
    this.#heldUntil = now + retryAfterMs;
    const ceilingMs = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#dueAt = this.#heldUntil + this.#environment.random() * ceilingMs;
    return this.waitMs();
  }

  #holdsUntil(): number {
    return Math.max(this.#heldUntil, this.#allowance.opensAt());
  }
}
