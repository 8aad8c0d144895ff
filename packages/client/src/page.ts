import type { Lead } from './contract.ts';
import type { RateLimit } from './rate-limits.ts';

/** One answer of the service. */
export interface Page {
  /** Oldest first when `since` was given, else newest first. None when nothing has changed. */
  readonly leads: readonly Lead[];
  /** The `since` of the next poll. Undefined only for an unchanged page of a request without `since`. */
  readonly nextSince: string | undefined;
  /** Whether there may be more leads: ask again at once, with `nextSince`. */
  readonly isFull: boolean;
  /** Whether the page is the one whose `etag` was sent. Then it has no leads. */
  readonly isUnchanged: boolean;
  /** Whether the service holds a request that asks it to wait for a lead. False if you did not ask. */
  readonly isWaitApplied: boolean;
  readonly etag: string | undefined;
  readonly rateLimits: readonly RateLimit[];
}
