/** Watches for the first poll of a platform that was just connected: the service lists who polls, without this page. */
import type { LeadtapError } from '@leadtap/client';
import { CONSUMERS_PATH, type Consumer, type Consumers } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { reportContact } from '../feed.ts';
import { baseUrl, lastLimits, observedFetch, toConnectionError, toResponseError } from '../service.ts';

export type Watch =
  | { readonly kind: 'off' }
  /** `rejected`: a poll came, but the service did not answer it with leads. `error`: the last check failed. */
  | { readonly kind: 'waiting'; readonly rejected?: Consumer; readonly error?: LeadtapError }
  | { readonly kind: 'seen'; readonly consumer: Consumer }
  | { readonly kind: 'stopped'; readonly reason: 'time' | 'limit' | 'not-recorded' }
  | { readonly kind: 'failed'; readonly error: LeadtapError };

/** Each check uses one of the 1,000 requests per hour. */
export const INTERVAL_MS = 10_000;
const MAX_MINUTES = 10;
/** The rest of the hourly limit is left to the platform. */
const RESERVE = 200;
const TICK_MS = 250;

export const watch = signal<Watch>({ kind: 'off' });
/** The tokens of the user that poll, as of the last check. */
export const consumers = signal<readonly Consumer[]>([]);

let dueAt = 0;

/** Makes the next check without waiting for its time. */
export const checkNow = (): void => {
  dueAt = 0;
};

/** Starts to watch, and returns what ends it. */
export function startWatch(token: string): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const endsAt = Date.now() + MAX_MINUTES * 60_000;
  let atStart: readonly Consumer[] | undefined;
  let isChecking = false;

  const show = (state: Watch): void => {
    if (signal.aborted) return;
    watch.value = state;
    if (state.kind !== 'waiting') end();
  };
  const check = async (): Promise<void> => {
    const response = await observedFetch(`${baseUrl}${CONSUMERS_PATH}`, {
      headers: { authorization: `Bearer ${token}` },
      cache: 'no-store',
      signal,
    });
    reportContact(true);
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok || !isConsumers(body)) {
      const error = toResponseError(response, body);
      if (error.code === 'no-such-resource') return show({ kind: 'stopped', reason: 'not-recorded' });
      return show(error.isTransient ? { kind: 'waiting', error } : { kind: 'failed', error });
    }
    consumers.value = body.consumers;
    atStart ??= body.consumers;
    const polled = findPolled(atStart, body.consumers);
    const answered = polled.find(({ lastStatus }) => isAnswered(lastStatus));
    const hour = lastLimits.peek()?.limits.find(({ name }) => name === 'hour');
    if (answered) show({ kind: 'seen', consumer: answered });
    else if (hour && hour.remaining < RESERVE) show({ kind: 'stopped', reason: 'limit' });
    else show({ kind: 'waiting', ...(polled[0] && { rejected: polled[0] }) });
  };
  const tick = async (): Promise<void> => {
    const now = Date.now();
    if (isChecking || now < dueAt || document.hidden) return;
    if (now > endsAt) return show({ kind: 'stopped', reason: 'time' });
    isChecking = true;
    dueAt = now + INTERVAL_MS;
    try {
      await check();
    } catch (cause) {
      if (!signal.aborted) reportContact(false);
      show({ kind: 'waiting', error: toConnectionError(cause) });
    } finally {
      isChecking = false;
    }
  };
  const end = (): void => {
    clearInterval(timer);
    ending.abort();
  };

  dueAt = 0;
  watch.value = { kind: 'waiting' };
  const timer = setInterval(() => void tick(), TICK_MS);
  return () => {
    end();
    watch.value = { kind: 'off' };
    consumers.value = [];
  };
}

const isConsumers = (body: unknown): body is Consumers =>
  typeof body === 'object' && body !== null && 'consumers' in body && Array.isArray(body.consumers);

/** Those that have polled since the first check. Both times are of the service, so that no clock of the visitor counts. */
const findPolled = (atStart: readonly Consumer[], current: readonly Consumer[]): Consumer[] =>
  current.filter(({ tokenId, lastPollAt }) => {
    const before = atStart.find((consumer) => consumer.tokenId === tokenId);
    return before === undefined || Date.parse(lastPollAt) > Date.parse(before.lastPollAt);
  });

export const isAnswered = (status: number): boolean => status === 200 || status === 304;
