import { RATE_LIMITS, USER_WINDOWS } from '@leadtap/contract';

/** A limit: at most `quota` requests in a window of `windowS` seconds. */
export interface Policy {
  readonly name: string;
  readonly quota: number;
  readonly windowS: number;
}

/** For each user, over all tokens of the user. */
export const USER_POLICIES: readonly Policy[] = USER_WINDOWS;

/** For each user, over all tokens of the user: requests that send leads. */
export const INTAKE_POLICIES: readonly Policy[] = [RATE_LIMITS.intake];

/** For each user, over all tokens of the user: leads that are sent. */
export const INTAKE_LEAD_POLICIES: readonly Policy[] = [RATE_LIMITS.intakeLeads];

/** For each address, and only for rejected tokens: guessing tokens is slow, and good tokens are never limited by it. */
export const FAILED_TOKEN_POLICIES: readonly Policy[] = [RATE_LIMITS.failedTokens];

export interface WindowState {
  readonly policy: Policy;
  readonly remaining: number;
  /** Whole seconds until the window ends. */
  readonly resetS: number;
}

export interface Verdict {
  readonly windows: readonly WindowState[];
  /** The policies that reject the request; none means that it passes. */
  readonly violated: readonly string[];
  /** After this many whole seconds the request passes all policies. 0 when it passes now. */
  readonly retryAfterS: number;
}

/** The port: in the memory of one instance, or in a Redis that all instances share. */
export interface Limiter {
  /** Uses so many units of every policy, one by default, or, when one of them has fewer left, of none. */
  consume(key: string, units?: number): Verdict | Promise<Verdict>;
}

const NONE: readonly string[] = Object.freeze([]);

/**
 * @param counts two numbers for each policy, beginning at index `from`: the used units of the window after this request, and
 * the milliseconds until the window ends
 * @param isRejected at least one window had too few units left, so the request was counted in none
 */
export function toVerdict(
  policies: readonly Policy[],
  counts: readonly number[],
  from: number,
  isRejected: boolean,
  units = 1,
): Verdict {
  const windows: WindowState[] = [];
  let violated = NONE;
  let retryAfterS = 0;
  for (const policy of policies) {
    const index = from + 2 * windows.length;
    const used = counts[index] ?? 0;
    const resetS = Math.ceil((counts[index + 1] ?? 0) / 1000);
    windows.push({ policy, remaining: policy.quota - used, resetS });
    if (!isRejected || used + units <= policy.quota) continue;
    violated = [...violated, policy.name];
    retryAfterS = Math.max(retryAfterS, resetS);
  }
  return { windows, violated, retryAfterS };
}
