/**
 * Who polls with a token of this user. One list for the whole page, because each request uses one unit of the rate limit: it is
 * requested only while a part of the page shows it and the page is visible.
 */
import type { LeadtapError } from '@leadtap/client';
import { CONSUMERS_PATH, type Consumers } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clock } from '../clock.ts';
import { feedState, reportContact } from '../feed.ts';
import { baseUrl, lastLimits, observedFetch, toConnectionError, toResponseError } from '../service.ts';
import { session } from '../session.ts';

export type ConsumerList =
  | { readonly kind: 'loading' }
  /** `readAt`: when the service answered, in milliseconds since 1970 by the clock of the visitor. */
  | ({ readonly kind: 'listed'; readonly readAt: number } & Consumers)
  /** The service does not record who polls. */
  | { readonly kind: 'not-recorded' }
  | { readonly kind: 'failed'; readonly error: LeadtapError };

export const consumerList = signal<ConsumerList>({ kind: 'loading' });
/** Why the list is not current: the last request failed and is sent again, or few requests are left. */
export const listDelay = signal<LeadtapError | 'limit' | undefined>(undefined);

/** The rest of the hourly limit is left to the automations. */
const RESERVE = 200;
const TICK_MS = 250;
/** Between two requests after one that failed. */
const RETRY_MS = 10_000;

const intervals = new Set<{ readonly ms: number }>();
let timer: ReturnType<typeof setInterval> | undefined;
let request: AbortController | undefined;
let requestedAt = 0;
let notBefore = 0;

/** Requests the list without waiting for its time, but not before the service allows it. */
export function checkNow(): void {
  requestedAt = 0;
  void tick();
}

// The list belongs to the token.
effect(() => {
  session.value;
  request?.abort();
  request = undefined;
  requestedAt = 0;
  notBefore = 0;
  consumerList.value = { kind: 'loading' };
  listDelay.value = undefined;
});

/** The clocks of the page and the service may differ by this much. */
const CLOCK_MARGIN_MS = 5000;

/** Whether the lead was created after the list was read, or may have been. */
export const isListOlderThan = (createdAt: string, readAt: number): boolean =>
  Date.parse(createdAt) > readAt + (clock() - Date.now()) - CLOCK_MARGIN_MS;

/** Keeps the list current while the component is shown; undefined: as it is. */
export const useConsumerList = (intervalMs: number | undefined): void =>
  useEffect(() => (intervalMs === undefined ? undefined : subscribe(intervalMs)), [intervalMs]);

function subscribe(ms: number): () => void {
  const interval = { ms };
  intervals.add(interval);
  timer ??= setInterval(() => void tick(), TICK_MS);
  void tick();
  return () => {
    intervals.delete(interval);
    if (intervals.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

async function tick(): Promise<void> {
  const token = session.peek()?.token;
  const { kind } = consumerList.peek();
  if (!token || request || document.hidden || (kind !== 'loading' && kind !== 'listed')) return;
  const now = Date.now();
  const intervalMs = Math.min(...[...intervals].map(({ ms }) => ms));
  if (now < notBefore || now < requestedAt + Math.max(intervalMs, listDelay.peek() ? RETRY_MS : 0)) return;
  const hour = lastLimits.peek()?.limits.find(({ name }) => name === 'hour');
  if (hour && hour.remaining < RESERVE) {
    listDelay.value = 'limit';
    return;
  }
  requestedAt = now;
  const own = new AbortController();
  request = own;
  try {
    const response = await observedFetch(`${baseUrl}${CONSUMERS_PATH}`, {
      headers: { authorization: `Bearer ${token}` },
      cache: 'no-store',
      signal: own.signal,
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (own.signal.aborted) return;
    read(response, body);
  } catch (cause) {
    if (own.signal.aborted) return;
    fail(toConnectionError(cause));
  } finally {
    if (request === own) request = undefined;
  }
}

function read(response: Response, body: unknown): void {
  if (response.ok && isConsumers(body)) {
    consumerList.value = { ...body, kind: 'listed', readAt: Date.now() };
    listDelay.value = undefined;
    reportContact();
  } else fail(toResponseError(response, body));
}

function fail(error: LeadtapError): void {
  reportContact(error);
  if (error.code === 'no-such-resource') consumerList.value = { kind: 'not-recorded' };
  else if (error.isTransient) {
    listDelay.value = error;
    notBefore = Date.now() + (error.retryAfterMs ?? 0);
  } else consumerList.value = { kind: 'failed', error };
}

// What the page says about the connection changes in all of its parts at once.
effect(() => {
  const state = feedState.value;
  const delay = listDelay.peek();
  if (state.kind === 'retrying' && consumerList.peek().kind === 'listed') listDelay.value = state.error;
  if (state.kind !== 'live' || !delay || delay === 'limit' || delay.status === 429) return;
  notBefore = 0;
  checkNow();
});

const isConsumers = (body: unknown): body is Consumers =>
  typeof body === 'object' && body !== null && 'consumers' in body && Array.isArray(body.consumers);
