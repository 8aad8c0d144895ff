/** The requests to a webhook as entries of its log. */
import { attempt, type PendingAttempt } from '../attempts/merge-attempts.ts';
import { consumerIdOf, hookSubjectOf } from '../attempts/store.ts';
import { type ClaimResult, type SentLead, type SentLeads, sinceOf } from './rules.ts';
import { type DueHook, type Hook, type HookProgress, hostOfHook } from './store.ts';

/** A webhook that sends events belongs to the consumer that polls with its token. */
export const subjectOfHook = (hook: Hook): string =>
  hook.send === 'event' ? consumerIdOf(hook) : hookSubjectOf(hook.id);

export interface EndedAttempts {
  readonly due: DueHook;
  readonly result: ClaimResult | SentLeads;
  /** The leads that were accepted. */
  readonly sent: readonly SentLead[];
  readonly durationMs: number | undefined;
}

const NO_ANSWER = 'no answer in time';
const NO_CONNECTION = 'no connection was possible';

export function attemptsOfHook(
  { due, result, sent, durationMs }: EndedAttempts,
  progress: HookProgress,
  now: number,
): readonly PendingAttempt[] {
  const { hook } = due;
  const duration = durationMs === undefined ? null : Math.round(durationMs);
  const host = hostOfHook(hook);
  const attempts: PendingAttempt[] = [];
  if ('end' in result && sent.length > 0) {
    const status = result.accepted?.status ?? null;
    const times = sent.map(({ createdAt }) => createdAt);
    const range = { leads: sent.length, since: Math.min(...times) - 1, through: Math.max(...times) };
    attempts.push(attempt('leads', now, { status, host, durationMs: duration, ...range }));
  }
  const end = 'end' in result ? result.end : result;
  const announced = hook.send === 'event' ? { since: sinceOf(due), through: due.through } : {};
  const facts = { host, durationMs: duration, ...announced };
  switch (end.kind) {
    case 'accepted':
      if (hook.send === 'event') attempts.push(attempt('leads', now, { status: end.status, ...facts }));
      break;
    case 'refused':
    case 'gone': {
      const nextTryAt = end.kind === 'gone' ? null : progress.checkAt;
      const { status, reason = null } = end;
      attempts.push(attempt('refused', now, { status, reason, nextTryAt, ...facts }));
      break;
    }
    case 'timeout':
    case 'unreachable': {
      const reason = end.kind === 'timeout' ? NO_ANSWER : NO_CONNECTION;
      attempts.push(attempt('failed', now, { reason, nextTryAt: progress.checkAt, ...facts }));
      break;
    }
    case 'not-allowed':
      attempts.push(attempt('failed', now, { ...facts, code: 'hook-host-not-allowed', durationMs: null }));
  }
  return attempts;
}
