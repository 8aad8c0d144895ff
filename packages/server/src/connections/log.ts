/** The entries of the log: equal requests in a row are one. */
import type { LogKind } from '@leadtap/contract';
import type { ConnectionBatch, Habit, PollRun, PushRun, SendRun } from './store.ts';

/** What a row has beside its columns. */
export interface LogDetails {
  readonly status: number | null;
  readonly code: string | null;
  readonly durationMs: number | null;
  readonly nextTryAt?: number | null;
  readonly fields?: readonly string[];
  readonly updated?: number;
  /** Asked in another way than usual: it moved nothing. */
  readonly isOther?: boolean;
  /** Of leads that were sent to a webhook beside the new ones. */
  readonly beside?: readonly number[];
  /** Of `changed`: what a person has done. */
  readonly change?: string;
}

export interface LogRow {
  readonly connection: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
  readonly kind: LogKind;
  readonly leads: number;
  readonly after: number | null;
  readonly through: number | null;
  readonly reason: string | null;
  /** JSON of `LogDetails`. */
  readonly details: string;
}

export interface LogUpdate extends LogRow {
  /** It continues the entry of `firstAt`. */
  readonly isContinued: boolean;
}

/** Leads of a longer time are several entries. */
const MAX_ENTRY_OF_LEADS_MS = 60_000;

interface Entry extends Omit<LogRow, 'connection' | 'details'> {
  readonly details: LogDetails;
}

/** `added`: how many leads of a poll it had not been sent before. */
function entryOfPoll(run: PollRun, isNew: (createdAt: number) => boolean, isOther: boolean): Entry {
  const { firstAt, lastAt, times, page, status, code, durationMs } = run;
  const details: LogDetails = { status, code, durationMs, ...(isOther && { isOther }) };
  const base = { firstAt, lastAt, times, reason: null, details };
  if (page?.isSent) {
    const leads = isOther ? page.createdAt : page.createdAt.filter(isNew);
    const after = leads.length === 0 ? null : Math.min(...leads) - 1;
    const through = leads.length === 0 ? null : Math.max(...leads);
    return { ...base, kind: leads.length > 0 ? 'leads' : 'empty', leads: leads.length, after, through };
  }
  const isFailed =
    status >= 500 || status === 499 || (page !== null && page.createdAt.length > 0 && status === 200);
  const kind = page !== null && !isFailed ? 'empty' : status >= 400 && status < 499 ? 'refused' : 'failed';
  return { ...base, kind, leads: 0, after: null, through: null };
}

function entryOfSend(run: SendRun): Entry {
  const { firstAt, lastAt, times, status, code, added, updated, fields, durationMs } = run;
  const kind = status >= 500 || status === 499 ? 'failed' : status >= 400 ? 'refused' : 'leads';
  return {
    ...{ firstAt, lastAt, times, kind, leads: added, after: null, through: null, reason: null },
    details: {
      status,
      code,
      durationMs,
      ...(updated > 0 && { updated }),
      ...(fields.length > 0 && { fields }),
    },
  };
}

function entryOfPush(run: PushRun): Entry {
  const { firstAt, lastAt, times, createdAt, status, failure, reason, nextTryAt, durationMs } = run;
  const isRange = createdAt.length > 0 && !run.isBeside;
  const kind =
    failure === null ? 'leads' : failure === 'refused' || failure === 'gone' ? 'refused' : 'failed';
  const after = isRange ? Math.min(...createdAt) - 1 : null;
  const through = isRange ? Math.max(...createdAt) : null;
  return {
    ...{ firstAt, lastAt, times, kind, leads: createdAt.length, after, through, reason },
    details: {
      ...{ status, code: failure, durationMs },
      ...(nextTryAt !== null && { nextTryAt }),
      ...(run.isBeside && { beside: createdAt }),
    },
  };
}

/** Entries with equal texts are one, if they follow each other. */
const equalOf = ({ kind, details: { status, code, isOther, beside } }: Entry): string =>
  JSON.stringify([kind, status, code, isOther, beside]);

export interface LogOfBatch extends Pick<ConnectionBatch, 'sends' | 'pushes'> {
  readonly connection: string;
  /** Each with whether it moved nothing. */
  readonly polls: readonly (PollRun & { readonly isOther: boolean })[];
  readonly isNew: (createdAt: number) => boolean;
}

/** The rows to write, and the newest entry of the log after them. */
export function entriesOf(
  known: Habit['entry'],
  batch: LogOfBatch,
): { readonly rows: readonly LogUpdate[]; readonly newest: Habit['entry'] } {
  const { connection, polls, sends, pushes, isNew } = batch;
  const entries = [
    ...polls.map((run) => entryOfPoll(run, isNew, run.isOther)),
    ...sends.map(entryOfSend),
    ...pushes.map(entryOfPush),
  ].sort((a, b) => a.firstAt - b.firstAt);
  let newest = known;
  const rows = new Map<number, LogUpdate>();
  for (const entry of entries) {
    const equal = equalOf(entry);
    const isLong =
      entry.kind === 'leads' && newest !== null && entry.lastAt - newest[0] > MAX_ENTRY_OF_LEADS_MS;
    const isContinued = newest !== null && newest[1] === equal && !isLong;
    const firstAt = isContinued && newest !== null ? newest[0] : nextFree(rows, entry.firstAt, newest);
    newest = [firstAt, equal];
    const before = rows.get(firstAt);
    rows.set(firstAt, {
      ...{ ...entry, connection, firstAt, details: JSON.stringify(entry.details) },
      times: entry.times + (before?.times ?? 0),
      leads: entry.leads + (before?.leads ?? 0),
      after: before?.after ?? entry.after,
      through: entry.through ?? before?.through ?? null,
      isContinued: before?.isContinued ?? isContinued,
    });
  }
  return { rows: [...rows.values()], newest };
}

/** Two entries of one millisecond stay apart. */
function nextFree(rows: ReadonlyMap<number, unknown>, at: number, newest: Habit['entry']): number {
  let free = newest !== null && newest[0] >= at ? newest[0] + 1 : at;
  while (rows.has(free)) free += 1;
  return free;
}

export const isFailure = ({ kind }: Pick<LogRow, 'kind'>): boolean => kind === 'refused' || kind === 'failed';
