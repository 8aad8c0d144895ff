/** How attempts that follow each other become one entry. */
import { MAX_CLOCK_SKEW_MS } from '../lib/clock.ts';
import { type Attempt, MAX_ATTEMPTS } from './store.ts';

export const isFailure = ({ kind }: Pick<Attempt, 'kind'>): boolean =>
  kind === 'refused' || kind === 'failed';

export const NO_FACTS = {
  ...{ status: null, code: null, leads: 0, since: null, through: null, durationMs: null, heldMs: null },
  ...{ reason: null, nextTryAt: null, fields: [] as readonly string[], host: null, polls: null },
};

type Facts = Partial<Omit<Attempt, 'kind' | 'at' | 'firstAt' | 'times'>>;
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
export type PendingAttempt = { -readonly [Key in keyof Attempt]: Attempt[Key] };

/** Adds to those that are not written yet. Leads that follow each other are one entry, and so are equal failures. */
export function addAttempt<A extends PendingAttempt>(pending: A[], next: A): void {
  const last = pending.at(-1);
  if (last && addLeads(last, next)) return;
  const merged = last && mergeEqual(last, next);
  if (merged) pending[pending.length - 1] = merged;
  else pending.push(next);
  if (pending.length > MAX_ATTEMPTS) pending.shift();
}

/** False: they do not follow the others. A client may go back, or get the newest leads again and again. */
function addLeads(last: PendingAttempt, next: Attempt): boolean {
  if (last.kind !== 'leads' || next.kind !== 'leads' || last.host !== next.host) return false;
  const follows =
    last.through === null ? next.through === null : next.since !== null && next.since >= last.through;
  if (!follows) return false;
  last.polls = joinPolls(last, next);
  last.at = Math.max(last.at, next.at);
  last.firstAt = Math.min(last.firstAt, next.firstAt);
  last.times += next.times;
  if (last.status !== next.status) last.status = null;
  last.leads += next.leads;
  last.through = next.through;
  last.durationMs = next.durationMs;
  last.heldMs = next.heldMs;
  return true;
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
  polls: joinPolls(last, next),
});

const joinPolls = ({ polls: last }: Attempt, { polls: next }: Attempt): Attempt['polls'] =>
  last && next ? [Math.min(last[0], next[0]), Math.max(last[1], next[1])] : (last ?? next);
