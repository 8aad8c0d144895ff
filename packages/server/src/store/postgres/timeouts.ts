/** In a file without the driver, which commands on SQLite do not load. */
export interface Timeouts {
  /** For a connection: from the pool, or a new one. */
  readonly connectLimitMs: number;
  /** For a statement without a transaction, such as the query of a poll, and for the first one of a transaction. */
  readonly queryLimitMs: number;
  /** For a statement that writes the leads of one request, after it has the lock. */
  readonly writeLimitMs: number;
  /** Between two statements of a transaction. When the connection is lost there, its locks are released after this. */
  readonly idleLimitMs: number;
}

/** A poll takes a millisecond, or waits a second for its lock. */
export const TIMEOUTS: Timeouts = {
  connectLimitMs: 2000,
  queryLimitMs: 3000,
  // 1,000 leads take a third of a second.
  writeLimitMs: 10_000,
  idleLimitMs: 10_000,
};

/** For commands and the start of the service: a managed database that was paused needs up to half a minute for a connection. */
export const LONG_TIMEOUTS = { connectLimitMs: 30_000, queryLimitMs: 30_000 };
