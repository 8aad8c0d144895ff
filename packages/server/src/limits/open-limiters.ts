import type { Clock } from '../clock.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, type Policy, USER_POLICIES } from './limiter.ts';
import { MemoryLimiter } from './memory-limiter.ts';
import type { ConnectionLog, RedisTimeouts } from './redis/connection.ts';
import type { SharedLimits } from './redis/shared-limits.ts';

export interface LimitersOptions {
  /** Shares the limits with all instances that are given the same. */
  readonly redisUrl: string | undefined;
  readonly clock: Clock;
  readonly log: ConnectionLog;
  readonly userPolicies?: readonly Policy[];
  readonly failedTokenPolicies?: readonly Policy[];
  readonly redisTimeouts?: RedisTimeouts;
}

export interface Limiters {
  readonly users: Limiter;
  readonly failedTokens: Limiter;
  /** How the sharing goes; undefined where nothing is shared. */
  readonly shared: Pick<SharedLimits, 'isUp' | 'fallbacks'> | undefined;
  close(): void;
}

/** Redis may be away: the limiters then begin in memory, and are shared as soon as it is there. */
export async function openLimiters({
  redisUrl,
  clock,
  log,
  userPolicies = USER_POLICIES,
  failedTokenPolicies = FAILED_TOKEN_POLICIES,
  redisTimeouts,
}: LimitersOptions): Promise<Limiters> {
  const users = new MemoryLimiter(userPolicies, clock);
  const failedTokens = new MemoryLimiter(failedTokenPolicies, clock);
  if (redisUrl === undefined) return { users, failedTokens, shared: undefined, close: () => undefined };
  // Loading the driver takes longer than all the rest of a start, so whoever does not share does not load it.
  const { SharedLimits } = await import('./redis/shared-limits.ts');
  const shared = await SharedLimits.open({ url: redisUrl, log, timeouts: redisTimeouts });
  return {
    users: shared.limiter(userPolicies, users),
    failedTokens: shared.limiter(failedTokenPolicies, failedTokens),
    shared,
    close: () => shared.close(),
  };
}
