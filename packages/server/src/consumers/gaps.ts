/** The leads that a consumer has asked past without being sent them, as ranges of `createdAt`. */

/** All leads after `after` and up to `through`. Null: from the first lead. */
export interface SentRange {
  readonly after: number | null;
  readonly through: number;
}

export interface Gap extends SentRange {
  /** The consumer's first position was after it: leads from before its start are no loss. */
  readonly isBeforeStart: boolean;
  readonly recordedAt: number;
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
