/**
 * A list of the service that a part of the page shows. One request for the whole page, because each uses one unit of the rate limit: it is
 * sent only while a part of the page shows the list and the page is visible.
 */
import type { LeadtapError } from '@leadtap/client';
import { computed, effect, type Signal, signal, untracked } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { feedState, reportContact } from './feed.ts';
import { baseUrl, lastLimits, observedFetch, toConnectionError, toResponseError } from './service.ts';
import { session } from './session.ts';

export type ListState<Body> =
  | { readonly kind: 'loading' }
  /** `readAt`: when the service answered, in milliseconds since 1970 by the clock of the visitor. */
  | ({ readonly kind: 'listed'; readonly readAt: number } & Body)
  | { readonly kind: 'failed'; readonly error: LeadtapError };

export interface PolledList<Body> {
  readonly state: Signal<ListState<Body>>;
  /** Why the list is not current: the last request failed and is sent again, or few requests are left. */
  readonly delay: Signal<LeadtapError | 'limit' | undefined>;
  /** Requests the list without waiting for its time, but not before the service allows it. */
  checkNow(): void;
  /** Keeps the list current while the component is shown; undefined: as it is. */
  use(intervalMs: number | undefined): void;
}

/** The rest of the hourly limit is left to the automations. */
const RESERVE = 200;
const TICK_MS = 250;
/** Between two requests after one that failed. */
const RETRY_MS = 10_000;

export function createPolledList<Body extends object>(
  /** With another path, the list begins anew. Empty: there is none. */
  pathOf: () => string,
  isBody: (body: unknown) => body is Body,
  /** With another query, the list is requested at once, and stays until then. */
  queryOf: () => string = () => '',
): PolledList<Body> {
  const list = signal<ListState<Body>>({ kind: 'loading' });
  const delay = signal<LeadtapError | 'limit' | undefined>(undefined);
  const intervals = new Set<{ readonly ms: number }>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let request: AbortController | undefined;
  let requestedAt = 0;
  let notBefore = 0;
  /** Ticks without a request: keys that are held open many leads in a second. */
  let rest = 0;
  let lastPath = '';

  function checkNow(): void {
    requestedAt = 0;
    void tick();
  }

  function abort(): void {
    request?.abort();
    request = undefined;
    requestedAt = 0;
  }

  // The list belongs to the token.
  const path = computed(pathOf);
  effect(() => {
    session.value;
    rest = path.value && lastPath ? 1 : 0;
    lastPath = path.value;
    abort();
    notBefore = 0;
    list.value = { kind: 'loading' };
    delay.value = undefined;
  });
  effect(() => {
    queryOf();
    abort();
  });

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
    if (!token || !lastPath || request || document.hidden || list.peek().kind === 'failed') return;
    if (rest > 0) {
      rest -= 1;
      return;
    }
    const now = Date.now();
    const intervalMs = Math.min(...[...intervals].map(({ ms }) => ms));
    if (now < notBefore || now < requestedAt + Math.max(intervalMs, delay.peek() ? RETRY_MS : 0)) return;
    const hour = lastLimits.peek()?.limits.find(({ name }) => name === 'hour');
    if (hour && hour.remaining < RESERVE) {
      delay.value = 'limit';
      return;
    }
    requestedAt = now;
    const own = new AbortController();
    request = own;
    try {
      const response = await observedFetch(`${baseUrl}${lastPath}${untracked(queryOf)}`, {
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
    if (response.ok && isBody(body)) {
      list.value = { ...body, kind: 'listed', readAt: Date.now() };
      delay.value = undefined;
      reportContact();
    } else fail(toResponseError(response, body));
  }

  function fail(error: LeadtapError): void {
    reportContact(error);
    if (error.isTransient) {
      delay.value = error;
      notBefore = Date.now() + (error.retryAfterMs ?? 0);
    } else list.value = { kind: 'failed', error };
  }

  // What the page says about the connection changes in all of its parts at once.
  effect(() => {
    const state = feedState.value;
    const reason = delay.peek();
    if (state.kind === 'retrying' && list.peek().kind === 'listed') delay.value = state.error;
    if (state.kind !== 'live' || !reason || reason === 'limit' || reason.status === 429) return;
    notBefore = 0;
    checkNow();
  });

  return {
    state: list,
    delay,
    checkNow,
    use: (intervalMs) =>
      useEffect(() => (intervalMs === undefined ? undefined : subscribe(intervalMs)), [intervalMs]),
  };
}
