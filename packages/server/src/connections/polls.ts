/** What follows from a poll. Pure: time is a parameter. The rules are those of the delivery contract; each is there because a history without it was false. */
import { laterOf } from '../lib/clock.ts';
import type { NewestPageRule } from '../poll/store.ts';
import {
  type Connection,
  type Habit,
  NO_HABIT,
  type PolledPage,
  type PollRun,
  type PollStyle,
} from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

const MAX_STYLES = 10;
const MAX_PAUSES = 30;
const MAX_HAD = 60;
const MAX_REPEATED = 10;
/** It worked once it has polled so often, over so long at least. */
const WORKED_POLLS = 10;
const WORKED_MS = 10 * MINUTE_MS;
const WORKED_FOLLOWED = 2;
/** A `since` of the future: the clock of the client may be ahead by so much. */
const MAX_AHEAD_MS = MINUTE_MS;
/** A client that follows `Link` may ask for a time of its own when it is started. */
const MAX_JUMP_MS = 2 * MINUTE_MS;
/** A connection of its last poll without `since` so long ago starts from the newest page. */
const MAX_GAP_MS = DAY_MS;
/** What was ended longer ago starts again, and does not go on where it was. */
export const GOES_ON_MS = DAY_MS;

type Asked = Pick<PollRun, 'since'>;

/** `isStamp`: the `since` is exactly the stamp of a lead. */
export function styleOf({ link }: Habit, since: number | null, isStamp: boolean): PollStyle {
  if (since === null) return 'none';
  return isStamp || since === link ? 'stamp' : 'time';
}

/** Whether a poll moves the connection: it asks as at least half of the last ten did, itself included, or for what `Link` gave. */
export function isCounted({ habit, endedAt }: Connection, { since }: Asked, style: PollStyle): boolean {
  const { styles, link } = habit;
  // One that had ended may have been put into another program, which asks otherwise.
  if (endedAt !== null) return true;
  if (styles.length === 0 || (since !== null && since === link)) return true;
  const same = styles.filter((one) => one === style).length;
  return 2 * (same + 1) >= styles.length + 1;
}

/** The usual time between two polls; 0 until there were two. */
export function usualPauseMs({ habit: { pausesMs } }: Pick<Connection, 'habit'>): number {
  return [...pausesMs].sort((a, b) => a - b)[pausesMs.length >> 1] ?? 0;
}

/** The newest lead that the connection had at this time. */
function hadAt({ habit: { had }, startStamp }: Connection, time: number): number | null {
  const known = had.filter(([at]) => at <= time).map(([, through]) => through);
  const first = had[0]?.[1] ?? startStamp;
  return first === null ? null : Math.max(first, ...known);
}

/** One and a half usual pauses ago: the page before may not have arrived. */
const hadBefore = (connection: Connection, now: number): number | null =>
  hadAt(connection, now - 1.5 * usualPauseMs(connection));

/** No gap and no surprise without `since`. Undefined: the newest page as it is. */
export function newestPageRule(connection: Connection, now: number): NewestPageRule | undefined {
  const { workedAt, firstAt, habit } = connection;
  if (workedAt === null || startsAgain(connection, now)) return undefined;
  if (!isCounted(connection, { since: null }, 'none')) return undefined;
  const isRecent = habit.withoutSinceAt !== null && now - habit.withoutSinceAt < MAX_GAP_MS;
  return {
    after: isRecent ? hadBefore(connection, now) : null,
    floor: floorOf(connection, now),
    historyUntil: firstAt,
  };
}

/** A change of its access raises it: what could be seen before is no new lead. */
function floorOf(connection: Connection, now: number): number | null {
  const { habit, accessChangedThrough } = connection;
  if (accessChangedThrough === null || habit.floorOfAccess === accessChangedThrough) return habit.floor;
  const had = hadBefore(connection, now);
  return laterOf(habit.floor, had === null ? null : had + 1);
}

export interface PollContext {
  /** The `since` is exactly the stamp of a lead. */
  readonly isStamp: boolean;
  /** Of its company. */
  readonly lastStamp: number;
  /** What the leads of the page were: none of them was new. */
  readonly hasNothingNew: boolean;
  /** The oldest lead that a page of 100 would have had. Undefined: that of the page. */
  readonly floor?: number | null;
}

const last = <T>(items: readonly T[], count: number): readonly T[] => items.slice(-count);

/** It starts: leads from before are none for it. */
export const begin = (connection: Connection, stamp: number, at: number): Connection => ({
  ...connection,
  ...{ startStamp: stamp, position: stamp, auditedThrough: stamp, notedPosition: stamp, startedAt: at },
  ...{ endedAt: null, endedBy: null, endStamp: null },
  habit: { ...connection.habit, had: [[at, stamp]], positionAt: at, pageFrom: null, jumpedTo: null },
});

/** Its keys work again: it goes on where it was, unless a person has ended it on purpose, or long ago. */
export const startsAgain = ({ startStamp, endedAt, endedBy }: Connection, at: number): boolean =>
  startStamp === null || (endedAt !== null && (endedBy === 'handled' || at - endedAt > GOES_ON_MS));

export function notePoll(before: Connection, run: PollRun, context: PollContext): Connection {
  const { since, page, firstAt, lastAt } = run;
  if (page === null) return noteError(before, run);
  const style = styleOf(before.habit, since, context.isStamp);
  const counts = isCounted(before, run, style);
  const isStart = startsAgain(before, firstAt);
  const started = isStart
    ? begin(before, since ?? page.link, firstAt)
    : { ...before, endedAt: null, endedBy: null, endStamp: null };
  const asked = noteHabit(started, run, page, { style, counts, isStart });
  const moved = counts ? notePosition(asked, run, page, style, context) : asked;
  const judged =
    since === null
      ? moved
      : judgeSince(moved, { since, at: lastAt, counts, link: before.habit.link }, context);
  const repeated =
    since === null
      ? []
      : noteRepeated(
          before.habit.repeated,
          lastAt,
          since,
          page.isFull && run.limit > 1 && context.hasNothingNew,
        );
  const noted: Connection = {
    ...judged,
    // What a person asks with its token says nothing of the automation.
    ...(counts && { errors: 0, failingSince: null, eventOpenSince: null }),
    lastAt: counts ? laterOf(before.lastAt, lastAt) : before.lastAt,
    habit: { ...judged.habit, repeated, link: page.link, linkHasLeads: page.newest !== null },
  };
  return noted.workedAt === null && hasWorked(noted, lastAt) ? { ...noted, workedAt: lastAt } : noted;
}

interface Counted {
  readonly style: PollStyle;
  readonly counts: boolean;
  readonly isStart: boolean;
}

function noteHabit(
  connection: Connection,
  run: PollRun,
  page: PolledPage,
  { style, counts, isStart }: Counted,
): Connection {
  const { habit, lastAt } = connection;
  const { since, firstAt, times } = run;
  const pauses: number[] = [];
  if (counts && !isStart && lastAt !== null && firstAt > lastAt) pauses.push(firstAt - lastAt);
  if (counts && times > 1) {
    const pauseMs = (run.lastAt - firstAt) / (times - 1);
    pauses.push(...Array<number>(Math.min(times - 1, MAX_PAUSES)).fill(pauseMs));
  }
  const isFollowed = since !== null && since === habit.link && habit.linkHasLeads && page.isSent;
  return {
    ...connection,
    habit: {
      ...habit,
      styles: last(
        [...habit.styles, ...Array<PollStyle>(Math.min(times, MAX_STYLES)).fill(style)],
        MAX_STYLES,
      ),
      pausesMs: last([...habit.pausesMs, ...pauses], MAX_PAUSES),
      followed: habit.followed + (isFollowed ? 1 : 0),
      polls: habit.polls + times,
    },
  };
}

function notePosition(
  connection: Connection,
  { since, lastAt }: PollRun,
  page: PolledPage,
  style: PollStyle,
  context: PollContext,
): Connection {
  // Two instances write in any order: what was asked later counts.
  const isLatest = connection.lastAt === null || lastAt >= connection.lastAt;
  const got = page.isSent ? page.newest : null;
  const position = since ?? laterOf(connection.position, got);
  const isMoved = isLatest && position !== connection.position;
  const moved = isLatest ? { ...connection, position } : connection;
  const habit = isMoved ? { ...connection.habit, positionAt: lastAt } : connection.habit;
  if (since !== null)
    return style === 'time'
      ? { ...moved, habit: { ...habit, jumpedTo: laterOf(habit.jumpedTo, since) } }
      : { ...moved, habit };
  const had = habit.withoutSinceAt !== null && lastAt - habit.withoutSinceAt >= MAX_GAP_MS ? [] : habit.had;
  const floor = floorOf(connection, lastAt);
  const firstFloor = context.floor === undefined ? page.oldest : context.floor;
  return {
    ...moved,
    habit: {
      ...habit,
      had: last([...had, [lastAt, moved.position ?? 0] as const], MAX_HAD),
      withoutSinceAt: lastAt,
      floor: floor ?? firstFloor,
      floorOfAccess: connection.accessChangedThrough,
      pageFrom: page.isSent ? [page.isFull ? (page.oldest ?? 0) : 0, lastAt] : habit.pageFrom,
    },
  };
}

/** It did what it is for. */
function hasWorked({ habit, startedAt, eventAt }: Connection, now: number): boolean {
  const isOften = habit.polls >= WORKED_POLLS && startedAt !== null && now - startedAt >= WORKED_MS;
  const isAfterEvent = eventAt !== null && now - eventAt < WORKED_MS;
  return habit.followed >= WORKED_FOLLOWED || isOften || isAfterEvent;
}

interface AskedSince {
  readonly since: number;
  readonly at: number;
  readonly counts: boolean;
  /** What the last `Link` gave. */
  readonly link: number | null;
}

function judgeSince(connection: Connection, asked: AskedSince, { lastStamp }: PollContext): Connection {
  const { since, at, counts, link } = asked;
  const { followed } = connection.habit;
  const isFuture = since > lastStamp && since > at + MAX_AHEAD_MS && counts;
  const isJump = since !== link && at - since > MAX_JUMP_MS;
  const isStillGone = connection.ahead === 'gone' && since === connection.aheadSince;
  const isGone = since > lastStamp && followed >= WORKED_FOLLOWED && (isJump || isStillGone);
  const ahead = isFuture ? 'future' : isGone ? 'gone' : null;
  return ahead !== null || counts
    ? { ...connection, ahead, aheadSince: ahead === null ? null : since }
    : connection;
}

function noteRepeated(
  known: Habit['repeated'],
  at: number,
  since: number,
  hasNothingNew: boolean,
): Habit['repeated'] {
  if (!hasNothingNew) return [];
  const isSame = known[0]?.[1] === since;
  return [...(isSame ? known.slice(0, MAX_REPEATED - 1) : []), [at, since]];
}

/** Our own downtime is no error of the connection. */
function noteError(connection: Connection, { status, firstAt, lastAt, times, code }: PollRun): Connection {
  if (status >= 500 || status === 499) return { ...connection, lastAt: laterOf(connection.lastAt, lastAt) };
  return {
    ...connection,
    errors: connection.errors + times,
    failingSince: connection.failingSince ?? firstAt,
    lastErrorAt: laterOf(connection.lastErrorAt, lastAt),
    lastErrorCode: code,
  };
}

export const newConnection = (
  facts: Pick<Connection, 'id' | 'companyId' | 'userId' | 'kind' | 'name' | 'source' | 'firstAt'>,
): Connection => ({
  ...facts,
  ...{ lastAt: null, tokenExpiresAt: null, lastLeadAt: null },
  ...{ startStamp: null, startedAt: null, position: null, auditedThrough: null, notedPosition: null },
  ...{ workedAt: null, endedAt: null, endedBy: null, endStamp: null, pausedAt: null, pausedBy: null },
  ...{ errors: 0, failingSince: null, lastErrorAt: null, lastErrorCode: null },
  ...{ ahead: null, aheadSince: null, pruned: 0, eventAt: null, eventOpenSince: null },
  ...{ accessChangedThrough: null, habit: NO_HABIT },
});
