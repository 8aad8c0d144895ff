/** Watches for requests that are not of this page: the first poll of a platform that was just connected. */
import { LeadtapError, readRateLimits } from '@leadtap/client';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { clock } from '../clock.ts';
import { baseUrl, observedFetch, sentRequests, uncountedRequests } from '../service.ts';
import { OtherRequests } from './other-requests.ts';

export type Watch =
  | { readonly kind: 'off' }
  /** `error`: the last check failed, and the next one is made all the same. */
  | { readonly kind: 'waiting'; readonly checks: number; readonly error?: LeadtapError }
  | { readonly kind: 'seen'; readonly at: number }
  | { readonly kind: 'stopped'; readonly reason: 'time' | 'limit' }
  | { readonly kind: 'failed'; readonly error: LeadtapError };

/** Each check uses one of the 1,000 requests per hour. */
export const INTERVAL_MS = 10_000;
const MAX_MINUTES = 10;
/** The rest of the hourly limit is left to the platform. */
const RESERVE = 200;
/** After so long the service has counted every earlier request of this page. */
const QUIET_MS = 1_000;
const TICK_MS = 250;

export const watch = signal<Watch>({ kind: 'off' });

let lastSentAt = 0;
effect(() => {
  if (sentRequests.value > 0) lastSentAt = Date.now();
});

let dueAt = 0;

/** Makes the next check without waiting for its time. */
export const checkNow = (): void => {
  dueAt = 0;
};

/** Starts to watch, and returns what ends it. */
export function startWatch(token: string): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const others = new OtherRequests();
  const endsAt = Date.now() + MAX_MINUTES * 60_000;
  let checks = 0;
  let isChecking = false;

  const show = (state: Watch): void => {
    if (signal.aborted) return;
    watch.value = state;
    if (state.kind !== 'waiting') end();
  };
  const check = async (): Promise<void> => {
    const sentBefore = sentRequests.peek();
    // HEAD without `since` moves no position of the token: it neither confirms nor delivers a lead.
    const response = await observedFetch(`${baseUrl}${NEW_LEADS_PATH}?limit=1`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}` },
      cache: 'no-store',
      signal,
    });
    if (!response.ok) return show(failureOf(response));
    const hour = readRateLimits(response.headers).find(({ name }) => name === 'hour');
    // Another request of this page was sent meanwhile, and may be counted or not: check again soon.
    if (sentRequests.peek() !== sentBefore + 1) return checkNow();
    if (hour?.quota === undefined) return;
    const count = others.add({
      used: hour.quota - hour.remaining,
      windowEndsAt: Date.now() + hour.resetMs,
      ownRequests: sentRequests.peek(),
      uncountedRequests: uncountedRequests.peek(),
    });
    checks += 1;
    if (count > 0) show({ kind: 'seen', at: clock() });
    else if (hour.remaining < RESERVE) show({ kind: 'stopped', reason: 'limit' });
    else show({ kind: 'waiting', checks });
  };
  const tick = async (): Promise<void> => {
    const now = Date.now();
    if (isChecking || now < dueAt || now - lastSentAt < QUIET_MS || document.hidden) return;
    if (now > endsAt) return show({ kind: 'stopped', reason: 'time' });
    isChecking = true;
    dueAt = now + INTERVAL_MS;
    try {
      await check();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      const error = new LeadtapError({ code: 'connection-failed', message, cause });
      show({ kind: 'waiting', checks, error });
    } finally {
      isChecking = false;
    }
  };
  const end = (): void => {
    clearInterval(timer);
    ending.abort();
  };

  dueAt = 0;
  watch.value = { kind: 'waiting', checks };
  const timer = setInterval(() => void tick(), TICK_MS);
  return () => {
    end();
    watch.value = { kind: 'off' };
  };
}

/** A response to HEAD has no body, so the status has to do. 429 and 5xx pass by themselves. */
function failureOf({ status }: Response): Watch {
  const code = CODES[status] ?? (`http-${status}` as const);
  const error = new LeadtapError({ code, status, message: `status ${status}` });
  return error.isTransient ? { kind: 'waiting', checks: 0, error } : { kind: 'failed', error };
}

const CODES: Readonly<Record<number, LeadtapError['code']>> = {
  401: 'token-invalid',
  403: 'professional-plan-required',
  404: 'user-not-found',
  429: 'rate-limit-exceeded',
  503: 'unavailable',
};
