import type { JwksTiming } from '../../server/src/accounts/external-tokens.ts';
import type { RedisTimeouts } from '../../server/src/limits/redis/connection.ts';
import type { StoreTimeouts } from '../../server/src/open-store.ts';
import type { StatusTimeouts } from '../../server/src/status/read-status.ts';

/** So long that only a server that never answers reaches it, however slow the machine is. */
export const NEVER_MS = 240_000;

/** For tests that are not about timeouts: a database that is slow must not be taken for one that hangs. */
export const LONG_STORE_TIMEOUTS: StoreTimeouts = {
  connectLimitMs: NEVER_MS,
  queryLimitMs: NEVER_MS,
  writeLimitMs: NEVER_MS,
};

/** The same for an identity provider. */
export const LONG_JWKS_TIMING: Partial<JwksTiming> = { fetchTimeoutMs: NEVER_MS };

/** The same for Redis, which is connected to again soon. */
export const LONG_REDIS_TIMEOUTS: RedisTimeouts = {
  connectMs: NEVER_MS,
  attemptMs: NEVER_MS,
  silenceMs: NEVER_MS,
  retryMs: 50,
};

/** The same for the status page and the metrics: a read that is slow must not be taken for one of 100,000 connections. */
export const LONG_STATUS_TIMEOUTS: StatusTimeouts = {
  readMs: NEVER_MS,
  slowReadMs: NEVER_MS,
  scrapeMs: NEVER_MS,
};
