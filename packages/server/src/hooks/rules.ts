/** What follows from an attempt to send an event. Pure: time and randomness are parameters. */
import type { PendingLead } from '../connections/store.ts';
import type { DueHook, Hook, HookProgress } from './store.ts';

/** The result of one attempt. */
export type Outcome =
  /** 2xx. `reason`: what its receiver said, for the log of the user alone. */
  | { readonly kind: 'accepted'; readonly status: number; readonly reason?: string | undefined }
  /** 410: the hook is deleted, or disabled if it sends leads. */
  | { readonly kind: 'gone'; readonly status: number; readonly reason?: string | undefined }
  /** Any other status. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** What its receiver said. For the log of the user alone. */
      readonly reason?: string | undefined;
    }
  /** No response. `not-allowed`: this instance may not send to the host, and nothing was sent. */
  | { readonly kind: 'timeout' | 'unreachable' | 'not-allowed' };

/** `postponed`: nothing was sent. Too many events of the company are in flight, or the time of the claim was over. */
export type ClaimResult = Outcome | { readonly kind: 'postponed' };

export interface AcceptedLead {
  readonly createdAt: number;
  readonly status: number;
}

/** A lead that the receiver has accepted. */
export interface SentLead {
  readonly createdAt: number;
  /** It was sent beside the new ones. */
  readonly pending: PendingLead | undefined;
  readonly reason: string | undefined;
}

/** What a claim of a hook that sends leads has come to. */
export interface SentLeads {
  /** The last lead that the receiver has accepted: the position, which leads beside the new ones do not move. Undefined: there was none. */
  readonly accepted?: AcceptedLead | undefined;
  /** Accepted just now. */
  readonly sent?: SentLead | undefined;
  /**
   * `sending`: the claim goes on. `time-over`: there may be more leads, and it has lasted long enough. `all-sent`: there is none left. Else
   * what has ended it.
   */
  readonly end: ClaimResult | { readonly kind: 'sending' | 'time-over' | 'all-sent' };
}

export interface RuleContext {
  /** The time of the database. */
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Between two events of a hook. */
const PAUSE_MS = SECOND_MS;
/** Until there may be a free slot. */
const POSTPONE_MS = SECOND_MS;
/** A thin event whose leads still wait is sent again after each of these: the next one is longer than what was waited. */
const REMIND_AFTER_MS = [10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];
export const FIRST_BACKOFF_MS = 5 * SECOND_MS;
/** The last one is repeated, on the first day. */
const BACKOFF_MS = [FIRST_BACKOFF_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 5 * MINUTE_MS];
/** In place of the first ones if the receiver seems to be restarted. */
const RESTART_BACKOFF_MS = [FIRST_BACKOFF_MS, 5000, 10_000, 10_000, 20_000, 30_000, 40_000];
const RESTART_STATUSES = [502, 503, 504];
const LATER_BACKOFF_MS = HOUR_MS;
/** For a new lead, an event that fails is sent earlier. */
const MAX_BACKOFF_OF_NEW_LEAD_MS = MINUTE_MS;
/** So that hooks that failed together are not all sent together again. */
const JITTER = 0.1;
const MAX_RETRY_AFTER_MS = DAY_MS;
/** A clock may be set forward by days: time counts together with the attempts that are made in it at least. */
const FIRST_DAY = { ms: DAY_MS, failures: 250 };
const DISABLE_AFTER = { ms: 3 * DAY_MS, failures: 290 };

/** Nothing new: leads that were announced before still wait. */
const isReminder = ({ hook, through }: DueHook): boolean => through <= hook.announcedThrough;

/** The leads after it, up to `through`, are announced by the event. */
export const sinceOf = ({ hook, waitingSince }: DueHook): number =>
  waitingSince === null ? hook.announcedThrough : Math.min(waitingSince - 1, hook.announcedThrough);

export function progressAfter(due: DueHook, result: ClaimResult, context: RuleContext): HookProgress {
  switch (result.kind) {
    case 'accepted':
      return progressAfterSuccess(due, result.status, context);
    case 'refused':
    case 'timeout':
    case 'unreachable':
      return progressAfterFailure(due.hook, result, context);
    // Another instance may send to the host. After a 410, the program may have subscribed again at once.
    case 'not-allowed':
    case 'gone':
      return { ...due.hook, notBefore: context.now, checkAt: context.now };
    case 'postponed':
      return { ...due.hook, notBefore: context.now + POSTPONE_MS, checkAt: context.now + POSTPONE_MS };
  }
}

/**
 * The same for a hook that sends leads. Its position moves with what was accepted, also if the request after it has failed. It sends no
 * reminders, and is never disabled for failing: nothing is given up.
 */
export function progressAfterLeads(
  due: DueHook,
  { accepted, end }: SentLeads,
  context: RuleContext,
): HookProgress {
  const { now } = context;
  const moved = accepted && {
    ...{ announcedThrough: accepted.createdAt, lastEventAt: now, lastStatus: accepted.status },
    ...{ failures: 0, failingSince: null },
  };
  const hook = { ...due.hook, ...moved };
  switch (end.kind) {
    case 'accepted':
    case 'sending':
      return hook;
    case 'time-over':
      return { ...hook, notBefore: now, checkAt: now };
    case 'all-sent':
      // For leads that came after the last read, while the claim lasted.
      return { ...hook, notBefore: now, checkAt: now + PAUSE_MS };
    case 'gone':
      return { ...progressAfterFailure(hook, end, context), disabledAt: now, checkAt: null };
    default:
      return progressAfter({ ...due, hook }, end, context);
  }
}

function progressAfterSuccess(due: DueHook, status: number, { now }: RuleContext): HookProgress {
  const { hook, through } = due;
  const remindAt = nextReminder(due, now);
  return {
    announcedThrough: Math.max(through, hook.announcedThrough),
    announcedSince: remindAt === null ? hook.announcedThrough : hook.announcedSince,
    lastEventAt: now,
    lastStatus: status,
    failures: 0,
    failingSince: null,
    disabledAt: null,
    notBefore: now + PAUSE_MS,
    // For leads that came while the event was in flight.
    checkAt: now + PAUSE_MS,
    remindAt,
  };
}

function nextReminder(due: DueHook, now: number): number | null {
  const waitedMs = isReminder(due) ? due.claimedAt - (due.hook.lastEventAt ?? 0) : 0;
  const pauseMs = REMIND_AFTER_MS.find((ms) => ms > waitedMs);
  return pauseMs === undefined ? null : now + pauseMs;
}

function progressAfterFailure(hook: Hook, outcome: Outcome, { now, random }: RuleContext): HookProgress {
  const failures = hook.failures + 1;
  const failingSince = Math.min(hook.failingSince ?? now, now);
  const hasFailedFor = (limit: { readonly ms: number; readonly failures: number }): boolean =>
    now - failingSince >= limit.ms && failures >= limit.failures;
  const isDisabled = hook.send === 'event' && hasFailedFor(DISABLE_AFTER);
  const isRestart =
    outcome.kind === 'unreachable' ||
    (outcome.kind === 'refused' && RESTART_STATUSES.includes(outcome.status));
  const backoffMs = hasFailedFor(FIRST_DAY)
    ? LATER_BACKOFF_MS
    : ((isRestart ? RESTART_BACKOFF_MS[hook.failures] : undefined) ??
      BACKOFF_MS[Math.min(hook.failures, BACKOFF_MS.length - 1)] ??
      0);
  const floorMs = outcome.kind === 'refused' ? retryAfterMs(outcome.retryAfter, now) : 0;
  const waitMs = Math.max(Math.round(backoffMs * (1 + JITTER * random)), floorMs);
  return {
    announcedThrough: hook.announcedThrough,
    announcedSince: hook.announcedSince,
    lastEventAt: now,
    lastStatus: 'status' in outcome ? outcome.status : null,
    failures,
    failingSince,
    disabledAt: isDisabled ? now : null,
    notBefore: now + Math.max(Math.min(waitMs, MAX_BACKOFF_OF_NEW_LEAD_MS), floorMs),
    checkAt: isDisabled ? null : now + waitMs,
    remindAt: hook.remindAt,
  };
}

/** Seconds, or an HTTP date; 0 for anything else. */
export function retryAfterMs(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND_MS : / GMT$/.test(text) ? Date.parse(text) - now : 0;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** The leads until then would never be sent. The clock of the client may be ahead by a minute. */
export const isSinceInFuture = (since: number | undefined, now: number): boolean =>
  since !== undefined && since > now + MINUTE_MS;
