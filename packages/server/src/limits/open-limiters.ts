import type { Clock } from '../lib/clock.ts';
import {
  FAILED_TOKEN_POLICIES,
  INTAKE_LEAD_POLICIES,
  INTAKE_POLICIES,
  type Limiter,
  MemoryLimiter,
  type Policy,
  USER_POLICIES,
} from './limiter.ts';
import type { ConnectionLog, RedisTimeouts } from './redis/connection.ts';

export interface LimitersOptions {
  /** Shares the limits with all instances that use the same Redis. */
  readonly redisUrl: string | undefined;
  readonly clock: Clock;
  readonly log: ConnectionLog;
  readonly userPolicies?: readonly Policy[];
  readonly intakePolicies?: readonly Policy[];
  readonly intakeLeadPolicies?: readonly Policy[];
  readonly failedTokenPolicies?: readonly Policy[];
  readonly redisTimeouts?: RedisTimeouts;
}

/** The state of the shared limits, for metrics. */
export interface SharedLimits {
  readonly isUp: boolean;
  /** The requests that were limited in the memory of this process because Redis was unavailable. */
  readonly fallbacks: number;
}

export interface Limiters {
  /** Polls. */
  readonly users: Limiter;
  /** Requests that send leads. */
  readonly intake: Limiter;
  /** The leads of these requests. */
  readonly intakeLeads: Limiter;
  readonly failedTokens: Limiter;
  /** Undefined without Redis. */
  readonly shared: SharedLimits | undefined;
  close(): void;
}

/** Redis may be unavailable: the limiters then begin in memory, and are shared as soon as it is reachable. */
export async function openLimiters({
  redisUrl,
  clock,
  log,
  userPolicies = USER_POLICIES,
  intakePolicies = INTAKE_POLICIES,
  intakeLeadPolicies = INTAKE_LEAD_POLICIES,
  failedTokenPolicies = FAILED_TOKEN_POLICIES,
  redisTimeouts,
}: LimitersOptions): Promise<Limiters> {
  const createEach = <L extends Limiter>(create: (policies: readonly Policy[]) => L) => ({
    users: create(userPolicies),
    intake: create(intakePolicies),
    intakeLeads: create(intakeLeadPolicies),
    failedTokens: create(failedTokenPolicies),
  });
  const inMemory = (policies: readonly Policy[]) => new MemoryLimiter(policies, clock);
  if (redisUrl === undefined) return { ...createEach(inMemory), shared: undefined, close: () => undefined };
  // Loading the driver takes longer than all the rest of a start, so it is loaded only where it is used.
  const [{ RedisConnection }, { RedisLimiter }] = await Promise.all([
    import('./redis/connection.ts'),
    import('./redis/limiter.ts'),
  ]);
  const connection = await RedisConnection.open({ url: redisUrl, log, timeouts: redisTimeouts });
  const limiters = createEach((policies) => new RedisLimiter(policies, connection, inMemory(policies)));
  return {
    ...limiters,
    shared: {
      get isUp() {
        return connection.isUp;
      },
      get fallbacks() {
        return Object.values(limiters).reduce((sum, { fallbacks }) => sum + fallbacks, 0);
      },
    },
    close: () => connection.close(),
  };
}
