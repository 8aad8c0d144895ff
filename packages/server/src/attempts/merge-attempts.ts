/** How attempts that follow each other become one entry. */
import { MAX_CLOCK_SKEW_MS } from '../lib/clock.ts';
import { type Attempt, MAX_ATTEMPTS } from './store.ts';

export const isFailure = ({ kind }: Pick<Attempt, 'kind'>): boolean =>
  kind === 'refused' || kind === 'failed';

export const NO_FACTS = {
  ...{
    status: null,
    code: null,
    leads: 0,
    updated: 0,
    since: null,
    through: null,
    durationMs: null,
    heldMs: null,
  },
  ...{ reason: null, nextTryAt: null, fields: [] as readonly string[], host: null, polls: null },
};

type Facts = Partial<Omit<PendingAttempt, 'kind' | 'at' | 'firstAt' | 'times'>>;
const NONE: Facts = {};

/** An attempt that happened once. One literal: each request has one, and V8 takes several times as long to spread an object. */
export const attempt = (kind: Attempt['kind'], at: number, facts = NONE): PendingAttempt => ({
  kind,
  at,
  firstAt: at,
  times: 1,
  status: facts.status ?? null,
  code: facts.code ?? null,
  leads: facts.leads ?? 0,
  updated: facts.updated ?? 0,
  since: facts.since ?? null,
  through: facts.through ?? null,
  durationMs: facts.durationMs ?? null,
  heldMs: facts.heldMs ?? null,
  reason: facts.reason ?? null,
  nextTryAt: facts.nextTryAt ?? null,
  fields: facts.fields ?? NO_FACTS.fields,
  host: facts.host ?? null,
  polls: facts.polls ?? null,
});

/** Of a recorder, which changes it until it is written. */
export type PendingAttempt = { -readonly [Key in keyof Omit<Attempt, 'polls'>]: Attempt[Key] } & {
  polls: [first: number, last: number] | null;
};

/**
 * Adds to those that are not written yet. Leads that follow each other are one entry, and so are equal failures. They are counted in
 * the object that is there: a new one for each poll with leads would live until the write, and cost the garbage collector a third of
 * the poll.
 */
export function addAttempt<A extends PendingAttempt>(pending: A[], next: A): void {
  const last = pending.at(-1);
  if (last && isNextPage(last, next)) {
    if (last.status !== next.status) last.status = null;
    last.leads += next.leads;
    last.updated += next.updated;
    last.through = next.through;
    countUp(last, next);
  } else if (last && isEqual(last, next)) {
    last.reason = next.reason;
    last.nextTryAt = next.nextTryAt;
    countUp(last, next);
  } else pending.push(next);
  if (pending.length > MAX_ATTEMPTS) pending.shift();
}

/** Leads of a longer time are several entries, so that each has a time: a write may be late. */
const MAX_ENTRY_MS = 60_000;

/** A client may go back, or get the newest leads again and again. */
function isNextPage(last: Attempt, next: Attempt): boolean {
  if (last.kind !== 'leads' || next.kind !== 'leads' || last.host !== next.host) return false;
  if (next.at - last.firstAt > MAX_ENTRY_MS) return false;
  return last.through === null ? next.through === null : next.since !== null && next.since >= last.through;
}

function countUp(last: PendingAttempt, next: PendingAttempt): void {
  last.durationMs = next.durationMs;
  last.heldMs = next.heldMs;
  last.at = Math.max(last.at, next.at);
  last.firstAt = Math.min(last.firstAt, next.firstAt);
  last.times += next.times;
  if (!last.polls || !next.polls) last.polls ??= next.polls;
  else {
    last.polls[0] = Math.min(last.polls[0], next.polls[0]);
    last.polls[1] = Math.max(last.polls[1], next.polls[1]);
  }
}

/** A failure that equals the last one, or the same leads once more. */
function isEqual(last: Attempt, next: Attempt): boolean {
  if (last.kind !== next.kind || last.host !== next.host) return false;
  // The clock was set back since.
  if (last.at > next.at + MAX_CLOCK_SKEW_MS) return false;
  return isFailure(last)
    ? last.status === next.status && last.code === next.code && isSameList(last.fields, next.fields)
    : last.kind === 'leads' &&
        last.through !== null &&
        last.since === next.since &&
        last.through === next.through;
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean => a === b || a.join() === b.join();

/** Both as one, if they are equal. */
export const mergeEqual = (last: Attempt, next: Attempt): Attempt | undefined =>
  isEqual(last, next) ? { ...(next.at >= last.at ? next : last), ...joinTimes(last, next) } : undefined;

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
