/** The log of a consumer, a webhook or a sender, as console and command show it. */
import type { Attempt as WireAttempt } from '@leadtap/contract';
import { isFailure, NO_FACTS } from '../attempts/merge-attempts.ts';
import { type Attempt, type AttemptStore, senderIdOf } from '../attempts/store.ts';
import { MAX_CLOCK_SKEW_MS, toIso, toIsoOrNull } from '../lib/clock.ts';
import { attemptFix, attemptMessage } from './attempt-sentences.ts';
import { type ListedConsumer, publicIdOf } from './consumer-states.ts';
import type { SenderStatus } from './report.ts';

/** Whose log it is. */
export interface LogSubject {
  readonly subject: string;
  readonly companyId: string;
  /** Undefined: it does not poll. */
  readonly polls?: { readonly count: number; readonly lastAt: number } | undefined;
  /** Of a sender. */
  readonly sender?: SenderStatus;
}

export const logOfConsumer = (listed: ListedConsumer): LogSubject => ({
  subject: publicIdOf(listed),
  companyId: listed.companyId,
  polls: listed.consumer && { count: listed.consumer.polls, lastAt: listed.consumer.lastPollAt },
});

export const logOfSender = (sender: SenderStatus): LogSubject => ({
  subject: senderIdOf(sender),
  companyId: sender.companyId,
  sender,
});

export interface LogPage {
  readonly before?: number | undefined;
  readonly limit: number;
  /** For `next try in 4 min`. */
  readonly now: number;
}

/** Newest first. */
export async function readLog(
  store: AttemptStore,
  subject: LogSubject,
  { before, limit, now }: LogPage,
): Promise<WireAttempt[]> {
  // One more, to count the polls before the last one.
  const listed = await store.list({ ...subject, before, limit: limit + 1 });
  const { attempts, newer } = listed;
  const shown = attempts.slice(0, limit).filter(({ kind }) => kind !== 'empty');
  // Entries of the future are from before the clock was set back.
  const current = newer ? [] : attempts.filter(({ at }) => at <= now + MAX_CLOCK_SKEW_MS);
  const hasNextTry = (one: Attempt): boolean =>
    one.nextTryAt !== null && one.nextTryAt > now && current.find(({ host }) => host === one.host) === one;
  const isShown = ({ at }: Attempt): boolean => before === undefined || at < before;
  return [...shown, ...emptyPolls(attempts, newer ?? endOfLog(subject, before)).filter(isShown)]
    .sort((a, b) => b.at - a.at)
    .slice(0, limit)
    .map((one) => toWire(hasNextTry(one) ? one : { ...one, nextTryAt: null }, subject, now));
}

/** Where the next attempt would be. */
function endOfLog({ polls }: LogSubject, before: number | undefined): Attempt | undefined {
  if (!polls || before !== undefined) return undefined;
  const next = polls.count + 1;
  return { ...NO_FACTS, kind: 'leads', ...timesOf(polls.lastAt + 1, polls.lastAt + 1), polls: [next, next] };
}

const timesOf = (firstAt: number, at: number) => ({ firstAt, at: Math.max(firstAt, at), times: 1 });

/** The polls without leads between two attempts, which are no rows. A row of the kind `empty` is the first poll of a consumer. */
function emptyPolls(attempts: readonly Attempt[], newer: Attempt | undefined): Attempt[] {
  const found: Attempt[] = [];
  let later = newer;
  for (const one of attempts) {
    if (!one.polls) continue;
    const end = one.kind === 'empty' ? one.polls[0] - 1 : one.polls[1];
    const count = (later?.polls?.[0] ?? 0) - 1 - end;
    if (later && count > 0)
      found.push({
        ...{ ...NO_FACTS, kind: 'empty', polls: null },
        ...{ ...timesOf(one.at, later.firstAt - 1), times: count },
      });
    later = one;
  }
  return found;
}

function toWire(one: Attempt, subject: LogSubject, now: number): WireAttempt {
  const { polls: _, host: __, updated: ___, ...facts } = one;
  return {
    ...facts,
    at: toIso(one.at),
    firstAt: toIso(one.firstAt),
    since: toIsoOrNull(one.since),
    through: toIsoOrNull(one.through),
    nextTryAt: toIsoOrNull(one.nextTryAt),
    fields: [...one.fields],
    message: attemptMessage(one, now),
    fix: isFailure(one) ? attemptFix(one, subject.sender) : null,
  };
}
