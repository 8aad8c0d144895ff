/** How stored positions of a consumer and its new polls become one. */
import { addHours, type HourCounts } from '../attempts/hours.ts';
import { laterOf, MAX_CLOCK_SKEW_MS } from '../lib/clock.ts';
import { formatOnly, mergeScopes } from './scopes.ts';
import { type ConsumerPosition, type Gap, type PollSummary, positionOf, type SentRange } from './store.ts';

const NO_HOURS: readonly HourCounts[] = [];

/** Two instances may write in any order: positions never go back, and times only with the clock. `added`: what they had in each hour. */
export function mergePolls(
  stored: ConsumerPosition | undefined,
  polls: PollSummary,
  added = NO_HOURS,
): ConsumerPosition {
  const hours = addHours(stored?.hours ?? null, added, polls.writtenAt ?? polls.lastPollAt);
  if (!stored) return toFirstPosition(polls, hours);
  const { userId, tokenId } = polls;
  const isOfFuture = isAheadOfClock(stored, polls);
  const last = isOfFuture || polls.lastPollAt >= stored.lastPollAt ? polls : stored;
  return {
    userId,
    tokenId,
    tokenExpiresAt: last.tokenExpiresAt,
    firstPollAt: Math.min(stored.firstPollAt, polls.lastPollAt),
    lastPollAt: last.lastPollAt,
    lastStatus: last.lastStatus,
    polls: stored.polls + polls.polls,
    heldUntil: isOfFuture ? polls.heldUntil : laterOf(stored.heldUntil, polls.heldUntil),
    intervalMs: smoothInterval(stored.intervalMs, polls.lastPollAt - stored.lastPollAt),
    confirmedThrough: laterOf(stored.confirmedThrough, polls.confirmedThrough),
    confirmedAt: isOfFuture ? confirmedAtOf(polls) : mergeConfirmedAt(stored, polls),
    deliveredThrough: laterOf(stored.deliveredThrough, polls.deliveredThrough),
    gaps: mergeGaps({ gaps: stored.gaps, from: positionOf(stored) }, toMove(polls)),
    scopes: mergeScopes(stored, polls),
    hours,
  };
}

const confirmedAtOf = ({ confirmedThrough, lastPollAt }: PollSummary): number | null =>
  confirmedThrough === null ? null : lastPollAt;

function mergeConfirmedAt(stored: ConsumerPosition, polls: PollSummary): number | null {
  // Refused polls say nothing. A page that was sent without `since` does: this client confirms nothing.
  if (polls.confirmedThrough === null) return polls.sent.length > 0 ? null : stored.confirmedAt;
  const { confirmedThrough, confirmedAt } = stored;
  const hasRisen = confirmedThrough === null || polls.confirmedThrough > confirmedThrough;
  const hadNothingToConfirm = positionOf(stored) === confirmedThrough;
  return hasRisen || hadNothingToConfirm ? polls.lastPollAt : (confirmedAt ?? polls.lastPollAt);
}

/** When the service started after a crash, if the stored polls of a consumer are from before. */
export const startOfFirstPolls = (
  stored: ConsumerPosition | undefined,
  startedAt: number | null | undefined,
): number | undefined =>
  stored && startedAt != null && stored.lastPollAt < startedAt ? startedAt : undefined;

const toFirstPosition = (polls: PollSummary, hours: string): ConsumerPosition => {
  const { userId, tokenId, tokenExpiresAt, lastPollAt, lastStatus, heldUntil, scope } = polls;
  const { confirmedThrough, deliveredThrough } = polls;
  const gaps = mergeGaps({ gaps: [], from: null }, toMove(polls));
  const confirmedAt = confirmedAtOf(polls);
  return {
    ...{ userId, tokenId, tokenExpiresAt, lastPollAt, lastStatus, polls: polls.polls, heldUntil },
    ...{ confirmedThrough, deliveredThrough, confirmedAt },
    firstPollAt: polls.lastPollAt,
    intervalMs: null,
    gaps,
    scopes: scope ? formatOnly(scope) : null,
    hours,
  };
};

const toMove = (polls: PollSummary) => ({
  to: positionOf(polls),
  sent: polls.sent,
  at: polls.writtenAt ?? polls.lastPollAt,
});

/** Times of the future would let a consumer that stops count as active until the clock gets there again. */
const isAheadOfClock = (stored: ConsumerPosition, { writtenAt = Infinity }: PollSummary): boolean =>
  stored.lastPollAt > writtenAt + MAX_CLOCK_SKEW_MS;

const RISE = 0.5;
const FALL = 0.1;
/** An outage of days must not become the usual interval. */
const MAX_RISE = 4;
/** What a 32-bit column holds: 24 days. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;

/**
 * A moving average of the times between two polls. It rises fast and falls slowly, so that a client that reads several pages
 * in a row and then pauses has the interval of its pauses.
 */
function smoothInterval(intervalMs: number | null, sampleMs: number): number | null {
  if (sampleMs <= 0) return intervalMs;
  if (intervalMs === null) return Math.min(sampleMs, MAX_INTERVAL_MS);
  const sample = Math.min(sampleMs, intervalMs * MAX_RISE);
  const weight = sample > intervalMs ? RISE : FALL;
  return Math.min(Math.round(intervalMs + weight * (sample - intervalMs)), MAX_INTERVAL_MS);
}

/** Of each kind. A gap that is too large is better than a lead that counts as sent and was not. */
const MAX_GAPS = 10;

const startOf = ({ after }: SentRange): number => after ?? Number.NEGATIVE_INFINITY;

/**
 * A consumer that moves from one position to a later one skips what was not sent in between. What was sent ends gaps, so that two
 * instances may write in any order, and a client may go back. Returns the same array if nothing changes.
 */
export function mergeGaps(
  { gaps, from }: { readonly gaps: readonly Gap[]; readonly from: number | null },
  { to, sent, at }: { readonly to: number | null; readonly sent: readonly SentRange[]; readonly at: number },
): readonly Gap[] {
  const candidates =
    to !== null && (from === null || to > from)
      ? [...gaps, { after: from, through: to, isBeforeStart: from === null, recordedAt: at }]
      : gaps;
  if (candidates.length === 0) return gaps;
  const left = sent.reduce(subtract, candidates);
  const isSame = left.length === gaps.length && left.every((gap, index) => gap === gaps[index]);
  return isSame ? gaps : left;
}

const subtract = (gaps: readonly Gap[], range: SentRange): readonly Gap[] =>
  gaps.flatMap((gap) => {
    if (range.through <= startOf(gap) || startOf(range) >= gap.through) return [gap];
    const before = startOf(range) > startOf(gap) ? [{ ...gap, through: startOf(range) }] : [];
    const rest = range.through < gap.through ? [{ ...gap, after: range.through }] : [];
    return [...before, ...rest];
  });

/** Polls were not recorded until `startedAt`: what was sent before is not known, so that new gaps begin then. */
export const gapsSince = (gaps: readonly Gap[], startedAt = Number.NEGATIVE_INFINITY): readonly Gap[] =>
  gaps.flatMap((gap) => {
    if (gap.isBeforeStart || gap.recordedAt < startedAt) return [gap];
    if (gap.through < startedAt) return [];
    return [{ ...gap, after: laterOf(gap.after, startedAt - 1) }];
  });

/**
 * Leaves out gaps without a lead that the user may see: `newestIn` is the newest one of each. A crash loses the last seconds of
 * what was sent. So with the first polls since the start after it, which is then `startedAt`, a client that asks for what comes after
 * a lead from before that start has got that lead.
 */
export function keepGapsWithLeads(
  gaps: readonly Gap[],
  newestIn: (gap: Gap) => number | null,
  startedAt = Number.POSITIVE_INFINITY,
): readonly Gap[] {
  const kept = gaps.filter((gap) => {
    const newest = newestIn(gap);
    if (newest === null) return false;
    const mayBeLost = newest === gap.through && newest < startedAt && startedAt <= gap.recordedAt;
    return gap.isBeforeStart || !mayBeLost;
  });
  return [true, false].flatMap((isBeforeStart) =>
    limit(kept.filter((gap) => gap.isBeforeStart === isBeforeStart).sort((a, b) => a.through - b.through)),
  );
}

/** Merges the oldest ones. */
function limit(gaps: readonly Gap[]): readonly Gap[] {
  const [first] = gaps;
  if (!first || gaps.length <= MAX_GAPS) return gaps;
  const merged = gaps.slice(0, gaps.length - MAX_GAPS + 1);
  const { through = first.through } = merged.at(-1) ?? first;
  return [{ ...first, through }, ...gaps.slice(merged.length)];
}
