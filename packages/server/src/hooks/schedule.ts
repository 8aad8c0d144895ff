/** What the sender does next. Pure: the time is a parameter. */

/** What the sender knows between two steps. All times are of a monotonic clock: the clock of the system may be set. */
export interface SenderState {
  readonly hasHooks: boolean;
  /** The next claim examines their hooks, beside those whose `checkAt` has come. */
  readonly companies: ReadonlySet<string> | 'all';
  /** When each step was made last. */
  readonly sweptAt: number;
  readonly readAt: number;
  readonly claimedAt: number;
  /** Of the last error of the database. */
  readonly failedAt: number;
  /** Until then, hooks may be at the end of the pause after their event. */
  readonly pausesEndAt: number;
}

export const NEVER = Number.NEGATIVE_INFINITY;

export const INITIAL_STATE: SenderState = {
  ...{ hasHooks: false, companies: 'all' },
  ...{ sweptAt: NEVER, readAt: NEVER, claimedAt: NEVER, failedAt: NEVER, pausesEndAt: NEVER },
};

export type Step =
  /** Examine all hooks, delete ended ones, and look whether there are any. */
  | { readonly kind: 'sweep' }
  /** Look whether there are any. */
  | { readonly kind: 'look' }
  /** Read which companies have new leads. */
  | { readonly kind: 'read' }
  /** Claim the hooks for which an event is due, and send their events. */
  | { readonly kind: 'claim' }
  | { readonly kind: 'wait'; readonly ms: number };

/** How often the change log is read while there are hooks. */
const TICK_MS = 100;
/** Hooks of other processes whose `checkAt` has come are found so often. */
const CLAIM_INTERVAL_MS = 1000;
/** While there are none: another process may add the first one. A look takes 0.03 ms of processor time with SQLite, 0.8 ms with PostgreSQL. */
const LOOK_INTERVAL_MS = 2000;
const SWEEP_INTERVAL_MS = 60_000;
const RETRY_MS = 1000;

export function nextStep(state: SenderState, now: number): Step {
  const waitUntil = (time: number): Step => ({ kind: 'wait', ms: time - now });
  const retryAt = state.failedAt + RETRY_MS;
  if (now < retryAt) return waitUntil(retryAt);
  const sweepAt = state.sweptAt + SWEEP_INTERVAL_MS;
  if (now >= sweepAt) return { kind: 'sweep' };
  if (!state.hasHooks) {
    // The first subscription over HTTP ends the wait.
    const lookAt = state.readAt + LOOK_INTERVAL_MS;
    return now >= lookAt ? { kind: 'look' } : waitUntil(Math.min(lookAt, sweepAt));
  }
  if (isClaimDue(state, now)) return { kind: 'claim' };
  const nextReadAt = Math.max(state.readAt, state.claimedAt) + TICK_MS;
  return now >= nextReadAt ? { kind: 'read' } : waitUntil(nextReadAt);
}

/** One claim after each read at most. All hooks are examined once a second at most, also while the change log cannot say what has changed. */
function isClaimDue({ companies, readAt, claimedAt, pausesEndAt }: SenderState, now: number): boolean {
  if (readAt <= claimedAt) return false;
  if (now >= claimedAt + CLAIM_INTERVAL_MS) return true;
  return companies !== 'all' && (companies.size > 0 || now < pausesEndAt);
}

type Changes = Partial<SenderState>;

/** The next claim examines these companies too. */
export function examine({ companies }: SenderState, more: Iterable<string> | 'all'): Changes {
  const isAll = companies === 'all' || more === 'all';
  return { companies: isAll ? 'all' : new Set([...companies, ...more]) };
}

/** After the wait, everything that shows whether the database answers again. */
export const afterFailure = (now: number): Changes => ({ failedAt: now, readAt: NEVER, claimedAt: NEVER });

/** The hook is to be examined again after so long. If that is later than the next claim, that one finds it. */
export function afterResult({ pausesEndAt }: SenderState, checkInMs: number, now: number): Changes {
  if (checkInMs > CLAIM_INTERVAL_MS) return {};
  return { pausesEndAt: Math.max(pausesEndAt, now + checkInMs + 2 * TICK_MS) };
}
