import type { Clock } from '../clock.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from './limiter.ts';
import { MemoryLimiter } from './memory-limiter.ts';
import type { ConnectionLog } from './redis/connection.ts';
import type { SharedLimits } from './redis/shared-limits.ts';

interface LimitersOptions {
  /** Shares the limits with all instances that are given the same. */
  readonly redisUrl: string | undefined;
  readonly clock: Clock;
  readonly log: ConnectionLog;
}

interface Limiters {
  readonly users: Limiter;
  readonly failedTokens: Limiter;
  /** How the sharing goes; undefined where nothing is shared. */
  readonly shared: Pick<SharedLimits, 'isUp' | 'fallbacks'> | undefined;
  close(): void;
}

/** Redis may be away: the limiters then begin in memory, and are shared as soon as it is there. */
export async function openLimiters({ redisUrl, clock, log }: LimitersOptions): Promise<Limiters> {
  const users = new MemoryLimiter(USER_POLICIES, clock);
  const failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock);
  if (redisUrl === undefined) return { users, failedTokens, shared: undefined, close: () => undefined };
  // Loading the driver takes longer than all the rest of a start, so whoever does not share does not load it.
  const { SharedLimits } = await import('./redis/shared-limits.ts');
  const shared = await SharedLimits.open({ url: redisUrl, log });
  return {
    users: shared.limiter(USER_POLICIES, users),
    failedTokens: shared.limiter(FAILED_TOKEN_POLICIES, failedTokens),
    shared,
    close: () => shared.close(),
  };
}
