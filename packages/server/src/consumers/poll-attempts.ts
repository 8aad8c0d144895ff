/** The polls of a consumer that mean something: leads, refusals, failures, and the first success after them. */
import { addAttempt, attempt, isFailure, type PendingAttempt } from '../attempts/merge-attempts.ts';
import { type Attempt, CLIENT_CLOSED_REQUEST_CODE } from '../attempts/store.ts';
import { laterOf } from '../lib/clock.ts';
import type { EndedPoll, PollFacts } from '../poll/store.ts';
import type { ConsumerPosition, PollAttempt, PollSummary } from './store.ts';

type PendingPoll = PendingAttempt & { createdAt?: PollAttempt['createdAt'] };

/** What the recorder has of a consumer. */
export interface PollAttempts {
  polls: number;
  attempts: PendingPoll[];
  firstEmptyAt: number | null;
}

/** One array for all entries: most polls are empty. Never changed. */
export const NO_ATTEMPTS: PendingPoll[] = [];

/** The client has disconnected: it has received nothing, and was not refused. */
const DISCONNECTED = 499;
/** A client that polls too often is not well after it: its refusals are one entry. */
const RATE_LIMITED = 429;

/** After the poll was counted. Nearly all polls have no leads. */
export function addPollAttempt(entry: PollAttempts, poll: EndedPoll): void {
  const { at, status, page } = poll;
  if (page?.isInterrupted && page.leads.count > 0) {
    const answered = status === DISCONNECTED ? null : status;
    add(entry, { ...toAttempt(entry, 'failed', at, answered, poll), code: CLIENT_CLOSED_REQUEST_CODE });
    return;
  }
  if (status === DISCONNECTED) return;
  if (status >= 400) addRefusal(entry, at, status, poll);
  else if (page?.isSent && page.leads.count > 0) {
    const { since = null, leads } = page;
    const through = (since === null ? leads.first : leads.last) ?? null;
    // The newest leads once more.
    if (since === null && entry.attempts.at(-1)?.through === through) addSuccess(entry, at);
    else {
      const sent = { leads: leads.count, since, through, createdAt: leads.createdAt };
      add(entry, toAttempt(entry, 'leads', at, status, poll, sent));
    }
  } else addSuccess(entry, at);
}

export function addRefusal(entry: PollAttempts, at: number, status: number, facts: PollFacts = {}): void {
  add(entry, toAttempt(entry, status < 500 ? 'refused' : 'failed', at, status, facts));
}

/** Whether the one before has failed is known when the polls are written, if it is not in memory. */
function addSuccess(entry: PollAttempts, at: number): void {
  const last = entry.attempts.at(-1);
  if (!last) entry.firstEmptyAt ??= at;
  else if (isEndedBySuccess(last)) add(entry, toAttempt(entry, 'recovered', at, 200, {}));
}

function add(entry: PollAttempts, next: PendingPoll): void {
  if (entry.attempts === NO_ATTEMPTS) entry.attempts = [];
  addAttempt(entry.attempts, next);
}

type SentLeads = Pick<PollAttempt, 'leads' | 'since' | 'through' | 'createdAt'>;

const NO_LEADS: SentLeads = { leads: 0, since: null, through: null, createdAt: undefined };

const toAttempt = (
  { polls }: PollAttempts,
  kind: Attempt['kind'],
  at: number,
  status: number | null,
  { code, durationMs, heldMs }: PollFacts,
  sent = NO_LEADS,
): PendingPoll => {
  const pending: PendingPoll = attempt(kind, at, {
    status,
    code: code ?? null,
    leads: sent.leads,
    since: sent.since,
    through: sent.through,
    durationMs: durationMs === undefined ? null : Math.round(durationMs),
    heldMs: heldMs === undefined ? null : Math.round(heldMs),
    polls: [polls, polls],
  });
  pending.createdAt = sent.createdAt;
  return pending;
};

/** A client that has disconnected has `lastStatus` 200 or 499, so only the memory would know of it. */
const isEndedBySuccess = (last: Pick<Attempt, 'kind' | 'status' | 'code'>): boolean =>
  isFailure(last) && last.status !== RATE_LIMITED && last.code !== CLIENT_CLOSED_REQUEST_CODE;

const hasFailed = ({ lastStatus }: ConsumerPosition): boolean =>
  lastStatus >= 400 && lastStatus !== DISCONNECTED && lastStatus !== RATE_LIMITED;

/**
 * The rows of the log that follow from polls, for what is stored of the consumer before them. Leads that it had before are not new: a
 * page without a later lead counts as an empty poll. The first poll of a consumer has a row, so that the polls since can be counted.
 */
export function attemptsOf(stored: ConsumerPosition | undefined, polls: PollSummary): readonly Attempt[] {
  const { attempts = NO_ATTEMPTS, firstEmptyAt = null } = polls;
  const rows: Attempt[] = [];
  const base = stored?.polls ?? 0;
  let delivered = stored?.deliveredThrough ?? null;
  let mayRecover = stored !== undefined && hasFailed(stored);
  const succeed = (at: number, poll: number, facts: Partial<Attempt> = {}): void => {
    const kind = mayRecover ? 'recovered' : 'empty';
    const isFirst = stored === undefined && rows.length === 0;
    if (mayRecover || isFirst) rows.push(attempt(kind, at, { ...facts, status: 200, polls: [poll, poll] }));
    mayRecover = false;
  };
  if (firstEmptyAt !== null) succeed(firstEmptyAt, base + 1);
  for (const { createdAt = [], ...one } of attempts) {
    const [first = 0, last = 0] = one.polls ?? [];
    const row: Attempt = { ...one, polls: [base + first, base + last] };
    const isOfGap = fillsGap(stored, one);
    if (one.through !== null && one.through === delivered && !isOfGap) {
      const { durationMs, heldMs } = one;
      succeed(one.at, base + last, { durationMs, heldMs });
      continue;
    }
    rows.push(one.kind === 'leads' && !isOfGap ? withNewLeads(row, createdAt, delivered) : row);
    if (one.kind === 'leads') delivered = laterOf(delivered, one.through);
    mayRecover = isEndedBySuccess(one);
  }
  return rows;
}

/** The client went back, and got leads that it had skipped. */
const fillsGap = (stored: ConsumerPosition | undefined, { since, through }: PollAttempt): boolean =>
  since !== null &&
  through !== null &&
  stored?.gaps.some((gap) => since < gap.through && through > (gap.after ?? since)) === true;

/** `createdAt`: the leads of its first page. */
function withNewLeads(row: Attempt, createdAt: readonly number[], delivered: number | null): Attempt {
  const { since, through, leads } = row;
  if (delivered !== null && through !== null && through > delivered)
    return {
      ...row,
      leads: leads - createdAt.filter((time) => time <= delivered).length,
      since: Math.max(since ?? delivered, delivered),
    };
  return { ...row, since: since ?? Math.min(...createdAt) - 1 };
}
