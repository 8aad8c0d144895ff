import type { Clock } from '../clock.ts';
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
  const users = new MemoryLimiter(userPolicies, clock);
  const intake = new MemoryLimiter(intakePolicies, clock);
  const intakeLeads = new MemoryLimiter(intakeLeadPolicies, clock);
  const failedTokens = new MemoryLimiter(failedTokenPolicies, clock);
  if (redisUrl === undefined)
    return { users, intake, intakeLeads, failedTokens, shared: undefined, close: () => undefined };
  // Loading the driver takes longer than all the rest of a start, so it is loaded only where it is used.
  const [{ RedisConnection }, { RedisLimiter }] = await Promise.all([
    import('./redis/connection.ts'),
    import('./redis/limiter.ts'),
  ]);
  const connection = await RedisConnection.open({ url: redisUrl, log, timeouts: redisTimeouts });
  const sharedUsers = new RedisLimiter(userPolicies, connection, users);
  const sharedIntake = new RedisLimiter(intakePolicies, connection, intake);
  const sharedIntakeLeads = new RedisLimiter(intakeLeadPolicies, connection, intakeLeads);
  const sharedFailedTokens = new RedisLimiter(failedTokenPolicies, connection, failedTokens);
  return {
    users: sharedUsers,
    intake: sharedIntake,
    intakeLeads: sharedIntakeLeads,
    failedTokens: sharedFailedTokens,
    shared: {
      get isUp() {
        return connection.isUp;
      },
      get fallbacks() {
        return [sharedUsers, sharedIntake, sharedIntakeLeads, sharedFailedTokens].reduce(
          (sum, { fallbacks }) => sum + fallbacks,
          0,
        );
      },
    },
    close: () => connection.close(),
  };
}
