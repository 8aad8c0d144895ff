/** How attempts that follow each other become one entry. */
import { MAX_CLOCK_SKEW_MS } from '../lib/clock.ts';
import { type Attempt, MAX_ATTEMPTS } from './store.ts';

export const isFailure = ({ kind }: Pick<Attempt, 'kind'>): boolean =>
  kind === 'refused' || kind === 'failed';

export const NO_FACTS = {
  ...{ status: null, code: null, leads: 0, since: null, through: null, durationMs: null, heldMs: null },
  ...{ reason: null, nextTryAt: null, fields: [] as readonly string[], host: null, polls: null },
};

/** An attempt that happened once. */
export const attempt = (
  kind: Attempt['kind'],
  at: number,
  facts: Partial<Omit<Attempt, 'kind' | 'at' | 'firstAt' | 'times'>> = {},
): Attempt => ({ ...NO_FACTS, kind, at, firstAt: at, times: 1, ...facts });

/** Adds to those that are not written yet. Leads that follow each other are one entry, and so are equal failures. */
export function addAttempt<A extends Attempt>(pending: A[], next: A): void {
  const last = pending.at(-1);
  const merged = last && (mergeLeads(last, next) ?? mergeEqual(last, next));
  if (merged) pending[pending.length - 1] = merged;
  else pending.push(next);
  if (pending.length > MAX_ATTEMPTS) pending.shift();
}

function mergeLeads<A extends Attempt>(last: A, next: A): A | undefined {
  if (last.kind !== 'leads' || next.kind !== 'leads' || last.host !== next.host) return undefined;
  // A client may go back, or get the newest leads again and again.
  const follows =
    last.through === null ? next.through === null : next.since !== null && next.since >= last.through;
  if (!follows) return undefined;
  return {
    ...last,
    ...joinTimes(last, next),
    status: last.status === next.status ? last.status : null,
    leads: last.leads + next.leads,
    ...{ through: next.through, durationMs: next.durationMs, heldMs: next.heldMs },
  };
}

/** A failure that equals the last one, or the same leads once more. Undefined if it is another. */
export function mergeEqual<A extends Attempt>(last: A, next: A): A | undefined {
  if (last.kind !== next.kind || last.host !== next.host) return undefined;
  // The clock was set back since.
  if (last.at > next.at + MAX_CLOCK_SKEW_MS) return undefined;
  const isEqual = isFailure(last)
    ? last.status === next.status && last.code === next.code && last.fields.join() === next.fields.join()
    : last.kind === 'leads' &&
      last.through !== null &&
      last.since === next.since &&
      last.through === next.through;
  if (!isEqual) return undefined;
  return { ...(next.at >= last.at ? next : last), ...joinTimes(last, next) };
}

/** Two instances may write in any order. */
const joinTimes = (last: Attempt, next: Attempt): Pick<Attempt, 'at' | 'firstAt' | 'times' | 'polls'> => ({
  at: Math.max(last.at, next.at),
  firstAt: Math.min(last.firstAt, next.firstAt),
  times: last.times + next.times,
  polls:
    last.polls && next.polls
      ? [Math.min(last.polls[0], next.polls[0]), Math.max(last.polls[1], next.polls[1])]
      : (last.polls ?? next.polls),
});
