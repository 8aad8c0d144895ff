interface RateLimit {
  readonly name: string;
  /** At most this many requests… */
  readonly quota: number;
  /** …in a window of this many seconds. */
  readonly windowS: number;
}

/** What the service grants to everybody. The texts about it are made from these numbers. */
export const RATE_LIMITS = {
  /** For each user, whatever number of tokens the user has. */
  minute: { name: 'minute', quota: 100, windowS: 60 },
  /** Likewise. */
  hour: { name: 'hour', quota: 1000, windowS: 3600 },
  /** For each address, counting only tokens that were refused. */
  failedTokens: { name: 'failed-tokens', quota: 600, windowS: 60 },
} as const satisfies Record<string, RateLimit>;

/** All headers of a request together. */
export const MAX_HEADER_BYTES = 16 * 1024;
