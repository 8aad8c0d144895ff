import type { RedisTimeouts } from '../../server/src/limits/redis/connection.ts';
import type { StoreTimeouts } from '../../server/src/open-store.ts';

/** So long that only a server that never answers reaches it, however slow the machine is. */
const NEVER_MS = 240_000;

/** For tests that are not about timeouts: a database that is slow must not be taken for one that hangs. */
export const LONG_STORE_TIMEOUTS: StoreTimeouts = { connectLimitMs: NEVER_MS, queryLimitMs: NEVER_MS };

/** The same for Redis, which is connected to again soon. */
export const LONG_REDIS_TIMEOUTS: RedisTimeouts = {
  connectMs: NEVER_MS,
  attemptMs: NEVER_MS,
  silenceMs: NEVER_MS,
  retryMs: 50,
};
