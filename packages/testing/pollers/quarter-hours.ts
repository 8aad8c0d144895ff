const QUARTER_HOUR_MS = 15 * 60_000;

/** For platforms that look every 15 minutes for leads whose event was lost: their next look is within so many polls. */
export const QUARTER_HOUR = { idlePolls: 10 } as const;

/** A schedule of the platform. */
export class QuarterHours {
  readonly #now: () => number;
  #nextAt = Number.POSITIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  start(): void {
    this.#nextAt = this.#now() + QUARTER_HOUR_MS;
  }

  /** True once in 15 minutes. */
  isDue(): boolean {
    if (this.#now() < this.#nextAt) return false;
    this.start();
    return true;
  }
}
