import { RATE_LIMITS } from '@leadtap/contract';

/** A limit: at most `quota` requests in a window of `windowS` seconds. */
export interface Policy {
  readonly name: string;
  readonly quota: number;
  readonly windowS: number;
}

/** For each user, whatever number of tokens the user has. */
export const USER_POLICIES: readonly Policy[] = [RATE_LIMITS.minute, RATE_LIMITS.hour];

/** For each address, counting only tokens that were refused: guessing is slow, good tokens never feel it. */
export const FAILED_TOKEN_POLICIES: readonly Policy[] = [RATE_LIMITS.failedTokens];

export interface WindowState {
  readonly policy: Policy;
  readonly remaining: number;
  /** Whole seconds until the window begins anew. */
  readonly resetS: number;
}

export interface Verdict {
  readonly windows: readonly WindowState[];
  /** The policies that refuse the request; none means it passes. */
  readonly violated: readonly string[];
  /** After this many whole seconds the request passes all policies. 0 when it passes now. */
  readonly retryAfterS: number;
}

/** The port: in memory for one instance, or shared by all of them. */
export interface Limiter {
  /**
   * Uses one unit of every policy, or, when one of them refuses, of none. At once where nobody else need be asked: most
   * requests then wait for nothing.
   */
  consume(key: string): Verdict | Promise<Verdict>;
}
