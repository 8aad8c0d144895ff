import type { Environment } from './environment.ts';
import type { LeadtapError } from './errors.ts';
import type { Page } from './page.ts';
import { Allowance } from './rate-limits.ts';
import { LONGEST_HOLD_MS } from './retry-after.ts';

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

/** When the next request is due. */
export class Pace {
  readonly #intervalMs: number;
  readonly #environment: Environment;
  readonly #allowance = new Allowance();
  #dueAt = 0;
  #heldUntil = 0;
  #failures = 0;
  #sentAt = 0;

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

  /** The service asked for no request before this moment; undefined when it did not, or when that is over. */
  notBefore(): number | undefined {
    const until = this.#holdsUntil();
    return until > this.#environment.now() ? until : undefined;
  }

  sent(): void {
    this.#sentAt = this.#environment.now();
    this.#allowance.sent();
  }

  /** @param isMoreThere whether there are leads beyond this page */
  answered({ rateLimits }: Pick<Page, 'rateLimits'>, isMoreThere: boolean): void {
    this.#failures = 0;
    this.#allowance.update(rateLimits, this.#environment.now());
    this.#dueAt = isMoreThere ? 0 : this.#sentAt + this.#intervalMs;
  }

  /** Backs off with full jitter, on top of what the service asked for. Gives how long the wait is. */
  failed({ rateLimits, retryAfterMs = 0 }: LeadtapError): number {
    const now = this.#environment.now();
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
