/** One reading of the hourly limit, from a response to this page. */
export interface Reading {
  /** Requests of the user in this window, of all programs together. */
  readonly used: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly windowEndsAt: number;
  /** How many requests this page had sent when the service counted. */
  readonly ownRequests: number;
  /** How many of them the service may not have counted. */
  readonly uncountedRequests: number;
}

/** `t` of `RateLimit` is in whole seconds, and the response takes its time. */
const TOLERANCE_MS = 5_000;

/**
 * Counts the requests that other programs send with tokens of the same user: the service counts all requests of the user, and
 * this page knows its own. It may miss some, when a window ends or requests of this page fail; it never counts one of its own.
 * Several instances without shared limits have windows of their own, so each window is compared with itself only.
 */
export class OtherRequests {
  #first: Reading[] = [];

  /** How many requests of others the service has counted since the first reading of this window. */
  add(reading: Reading): number {
    // After a failure it is not known how many requests of this page count. From here on it is known again.
    if (this.#first.some((first) => first.uncountedRequests !== reading.uncountedRequests)) this.#first = [];
    const first = this.#first.find(
      ({ windowEndsAt }) => Math.abs(windowEndsAt - reading.windowEndsAt) <= TOLERANCE_MS,
    );
    if (!first) this.#first.push(reading);
    return first ? Math.max(0, reading.used - first.used - (reading.ownRequests - first.ownRequests)) : 0;
  }
}
