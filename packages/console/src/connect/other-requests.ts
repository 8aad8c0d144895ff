/** One reading of the hourly limit, from a response to this page. */
export interface Reading {
  /** Requests of the user in this window, of all programs together. */
  readonly used: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly windowEndsAt: number;
  /** How many requests this page had sent when the service counted. */
  readonly ownRequests: number;
}

/** `t` of `RateLimit` is in whole seconds, and the response takes its time. */
const TOLERANCE_MS = 5_000;

/**
 * Counts the requests that other programs send with tokens of the same user: the service counts all requests of the user, and
 * this page knows its own. It may miss some, when a window ends or requests of this page fail; it never counts one of its own.
 * Several instances without shared limits have windows of their own, so each window is compared with itself only.
 */
export class OtherRequests {
  #windows: Reading[] = [];

  /** How many requests of others the service has counted since the first reading of this window. */
  add(reading: Reading): number {
    const first = this.#windows.find(
      ({ windowEndsAt }) => Math.abs(windowEndsAt - reading.windowEndsAt) <= TOLERANCE_MS,
    );
    if (!first) {
      this.#windows.push(reading);
      return 0;
    }
    const others = reading.used - first.used - (reading.ownRequests - first.ownRequests);
    if (others >= 0) return others;
    // Some of this page's requests were not counted, because they failed or were refused. From here on the count is exact again.
    this.#windows = this.#windows.map((window) => (window === first ? reading : window));
    return 0;
  }
}
