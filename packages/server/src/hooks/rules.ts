/** What follows from an attempt to send an event. Pure: time and randomness are parameters. */
import type { DueHook, Hook, HookProgress } from '../store/hooks.ts';

/** The result of one attempt. */
export type Outcome =
  /** 2xx. */
  | { readonly kind: 'accepted'; readonly status: number }
  /** 410: the hook is deleted. */
  | { readonly kind: 'gone'; readonly status: number }
  /** Any other status. */
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfter?: string | undefined }
  /** No response. `not-allowed`: the host is not in the list any more, and nothing was sent. */
  | { readonly kind: 'timeout' | 'unreachable' | 'not-allowed' };

export interface RuleContext {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  /** Whether polls are recorded. If not, it is unknown whether the consumer has polled, and nothing is repeated. */
  readonly hasConsumers: boolean;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Between two events of a hook. */
const PAUSE_MS = SECOND_MS;
const REMIND_AFTER_MS = 2 * MINUTE_MS;
/** The last one is repeated. */
const BACKOFF_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];
/** So that hooks that failed together are not all sent together again. */
const JITTER = 0.1;
const MAX_RETRY_AFTER_MS = DAY_MS;
const DISABLE_AFTER_MS = 3 * DAY_MS;

/** A repetition, because the consumer has not polled since the event. */
export const isReminder = ({ hook, through }: DueHook): boolean => through <= hook.announcedThrough;

/** The leads after it, up to `through`, are announced by the event. A reminder repeats the event before. */
export const sinceOf = (due: DueHook): number =>
  isReminder(due) ? (due.hook.announcedSince ?? due.hook.announcedThrough) : due.hook.announcedThrough;

export function progressAfter(due: DueHook, outcome: Outcome, context: RuleContext): HookProgress {
  return outcome.kind === 'accepted'
    ? progressAfterSuccess(due, outcome.status, context)
    : progressAfterFailure(due.hook, outcome, context);
}

function progressAfterSuccess(
  due: DueHook,
  status: number,
  { now, hasConsumers }: RuleContext,
): HookProgress {
  return {
    announcedThrough: Math.max(due.through, due.hook.announcedThrough),
    announcedSince: sinceOf(due),
    lastEventAt: now,
    lastStatus: status,
    failures: 0,
    failingSince: null,
    disabledAt: null,
    notBefore: now + PAUSE_MS,
    // For leads that came while the event was in flight.
    checkAt: now + PAUSE_MS,
    remindAt: hasConsumers && !isReminder(due) ? now + REMIND_AFTER_MS : null,
  };
}

function progressAfterFailure(hook: Hook, outcome: Outcome, { now, random }: RuleContext): HookProgress {
  const failingSince = hook.failingSince ?? now;
  const isDisabled = now - failingSince >= DISABLE_AFTER_MS;
  const backoffMs = BACKOFF_MS[Math.min(hook.failures, BACKOFF_MS.length - 1)] ?? 0;
  const floorMs = outcome.kind === 'refused' ? retryAfterMs(outcome.retryAfter, now) : 0;
  const retryAt = now + Math.max(Math.round(backoffMs * (1 + JITTER * random)), floorMs);
  return {
    announcedThrough: hook.announcedThrough,
    announcedSince: hook.announcedSince,
    lastEventAt: outcome.kind === 'not-allowed' ? hook.lastEventAt : now,
    lastStatus: 'status' in outcome ? outcome.status : null,
    failures: hook.failures + 1,
    failingSince,
    disabledAt: isDisabled ? now : null,
    notBefore: retryAt,
    checkAt: isDisabled ? null : retryAt,
    remindAt: hook.remindAt,
  };
}

/** Seconds, or an HTTP date; 0 for anything else. */
export function retryAfterMs(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND_MS : / GMT$/.test(text) ? Date.parse(text) - now : 0;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
