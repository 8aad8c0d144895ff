/** The leads that the token may see: the newest ones first, then each new one as it arrives. */
import { type Lead, type LeadtapError, newLeads, type Page, poll } from '@leadtap/client';
import { MAX_WAIT_S } from '@leadtap/contract';
import { batch, computed, signal } from '@preact/signals';
import { clock } from './clock.ts';
import { baseUrl, environment, lastLimits, observedFetch, toLeadtapError } from './service.ts';

export type FeedState =
  | { readonly kind: 'off' }
  | { readonly kind: 'loading' }
  /** `isHeld`: the service holds requests until there is a lead. If not, the page polls. */
  | { readonly kind: 'live'; readonly isHeld: boolean }
  | {
      readonly kind: 'retrying';
      readonly error: LeadtapError;
      /** When the first of these failures was. */
      readonly failingSince: number;
      readonly retryAt: number;
    }
  | { readonly kind: 'stopped'; readonly error: LeadtapError };

/** More are not kept: the list stays fast. */
export const MAX_LEADS = 5000;
/** Between polls of a service that does not hold requests. */
const INTERVAL_MS = 15_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** A held request that fails after this time may have been cut by a proxy, which ends requests that are silent for too long. */
const MIN_CUT_MS = 2_000;
/** A held request with an empty answer has ended early if it was this much shorter than asked for: the service stops. */
const EARLY_MS = 2_000;
/** A service that stops answers further requests at once. After as many of them it is one that does not hold requests. */
const MAX_RECHECKS = 3;
const RECHECK_MS = 1_000;
/** Leads that arrive together are shown together, and the list changes at most this often. */
const COLLECT_MS = 50;
const MIN_UPDATE_MS = 250;

export const feedState = signal<FeedState>({ kind: 'off' });
/** The token does not work, or its user was removed. */
export const isRefused = computed(() => {
  const { value: state } = feedState;
  return state.kind === 'stopped' && (state.error.status === 401 || state.error.status === 404);
});
/** Newest first. */
export const leads = signal<readonly Lead[]>([]);
/** Whether the service may have older leads. */
export const hasOlder = signal(false);
/** How many leads have arrived since the first page. */
export const arrivedCount = signal(0);

export const HOUR_MS = 3_600_000;
/** How many hours are counted, the current one included. */
export const COUNTED_HOURS = 24;
/** Leads by hour since 1970, also those that are no longer kept. */
export const hourCounts = signal<ReadonlyMap<number, number>>(new Map());
/** All leads from this time on were loaded, in milliseconds since 1970. */
export const loadedFrom = signal(0);

/** The leads that have just arrived, which the list moves in. */
export const freshIds = new Set<string>();
const FRESH_MS = 1000;

let running = new AbortController();
let wake: () => void = () => undefined;
let endHeldRequest: () => void = () => undefined;
/** The trigger ids of the leads that are kept, and of some more. */
let known = new Set<string>();
let arriving: Lead[] = [];
let shownAt = 0;
/** How long the service is asked to hold a request. Shorter behind a proxy that cuts silent requests; 0: not at all. */
let waitS = MAX_WAIT_S;

export function startFeed(token: string): void {
  stopFeed();
  feedState.value = { kind: 'loading' };
  waitS = MAX_WAIT_S;
  running = new AbortController();
  void follow(token, running.signal);
}

/** Stops, and removes all leads from memory. */
export function stopFeed(): void {
  running.abort();
  known = new Set();
  arriving = [];
  batch(() => {
    feedState.value = { kind: 'off' };
    leads.value = [];
    arrivedCount.value = 0;
    hourCounts.value = new Map();
  });
}

/** Ends the pause between two attempts. */
export const retryNow = (): void => wake();
addEventListener('online', retryNow);
// A request that is held would notice only when it ends.
addEventListener('offline', () => endHeldRequest());

/** Another request of this page has shown whether the service answers. If the feed says otherwise, it polls at once. */
export function reportContact(error?: LeadtapError): void {
  const state = feedState.peek();
  const isDown = error !== undefined && isUnavailable(error);
  if (isDown && state.kind === 'live') endHeldRequest();
  if (!isDown && state.kind === 'retrying' && isUnavailable(state.error)) retryNow();
}

const isUnavailable = ({ status = 503 }: LeadtapError): boolean => status >= 500;

/** Ends when the signal is aborted, or with an error that no retry can change. */
async function follow(token: string, signal: AbortSignal): Promise<void> {
  let since: string | undefined;
  let failures = 0;
  let failingSince = 0;
  let rechecks = 0;
  /** How long the last request was held before it failed. */
  let cutAfterMs = 0;
  while (!signal.aborted) {
    try {
      const page = await poll({ baseUrl, token, since, environment, signal });
      if (signal.aborted) return;
      if (since === undefined) showFirst(page);
      else page.leads.forEach(receive);
      since = page.nextSince ?? since ?? new Date(0).toISOString();
      failures = 0;
      // The service answers, so that a proxy has cut the request. A wait of half the time is safe.
      if (cutAfterMs > 0) waitS = Math.min(waitS, Math.floor(cutAfterMs / 2000));
      cutAfterMs = 0;
      feedState.value = { kind: 'live', isHeld: waitS > 0 };
      const following = followUntilEnd(token, since, signal, rechecks < MAX_RECHECKS);
      let next = await following.next();
      for (; !next.done; next = await following.next()) {
        receive(next.value);
        since = next.value.createdAt;
        rechecks = 0;
      }
      const { failure, heldMs, isRecheck } = next.value;
      if (isRecheck) {
        rechecks += 1;
        await pause(RECHECK_MS * (rechecks - 1), signal);
      }
      if (!failure) continue;
      if (heldMs < MIN_CUT_MS) throw failure;
      // The first request after it is not held, and at once: it shows whether the service answers.
      cutAfterMs = heldMs;
    } catch (thrown) {
      if (signal.aborted) return;
      cutAfterMs = 0;
      const error = toLeadtapError(thrown);
      // An address that has never answered with leads is more likely wrong than under maintenance.
      if (!error.isTransient || (error.code === 'not-leads' && since === undefined)) {
        feedState.value = { kind: 'stopped', error };
        return;
      }
      if (failures === 0) failingSince = clock();
      const backoffMs =
        Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures) * (0.5 + Math.random() / 2);
      failures += 1;
      const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
      feedState.value = { kind: 'retrying', error, failingSince, retryAt: clock() + waitMs };
      await pause(waitMs, signal);
    }
  }
}

interface EndOfFollowing {
  /** Undefined: it was ended, or a held request came back early. */
  readonly failure: LeadtapError | undefined;
  /** How long the request that failed was held. */
  readonly heldMs: number;
  /** The service held the last request for less time than asked, or not at all: look again soon whether it stops. */
  readonly isRecheck: boolean;
}

/**
 * The client retries by itself. Here its first failure ends the loop, because the page shows failures, and because the first
 * request after one must not be held: it shows that the service answers again.
 */
async function* followUntilEnd(
  token: string,
  since: string,
  signal: AbortSignal,
  mayRecheck: boolean,
): AsyncGenerator<Lead, EndOfFollowing> {
  const loop = new AbortController();
  const abort = () => loop.abort();
  signal.addEventListener('abort', abort);
  endHeldRequest = abort;
  let failure: LeadtapError | undefined;
  let isRecheck = false;
  let isWaiting = false;
  let sentAt = Number.NEGATIVE_INFINITY;
  // The client asks for the token before the time limit of a request begins.
  const tokenWhenDue = async () => {
    const waitMs = sentAt + minSpacingMs() - performance.now();
    if (waitMs > 0) await pause(waitMs, loop.signal);
    return token;
  };
  const fetch: typeof observedFetch = async (url, { headers: { prefer, ...headers }, ...init }) => {
    isWaiting = prefer !== undefined && waitS > 0;
    sentAt = performance.now();
    const response = await observedFetch(url, {
      ...init,
      headers: isWaiting ? { ...headers, prefer: `wait=${waitS}` } : headers,
    });
    if (!response.ok || loop.signal.aborted) return response;
    const isHeld = /\bwait\b/i.test(response.headers.get('preference-applied') ?? '');
    const isEarly = !isHeld || performance.now() - sentAt < waitS * 1000 - EARLY_MS;
    if (isWaiting && mayRecheck && isEarly && (await response.clone().text()) === '[]') {
      isRecheck = true;
      loop.abort();
    } else feedState.value = { kind: 'live', isHeld };
    return response;
  };
  const onRetry = (error: LeadtapError) => {
    failure = error;
    loop.abort();
  };
  try {
    yield* newLeads({
      baseUrl,
      token: tokenWhenDue,
      since,
      instant: true,
      intervalMs: INTERVAL_MS,
      environment: { fetch },
      signal: loop.signal,
      onRetry,
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
  const heldMs = isWaiting && failure?.retryAfterMs === undefined ? performance.now() - sentAt : 0;
  return { failure, heldMs, isRecheck };
}

/** Between two requests. The less is left of the hour, the more of it is left to the automations, which share the limit. */
function minSpacingMs(): number {
  const { remaining = 1, quota = 1 } = lastLimits.peek()?.limits.find(({ name }) => name === 'hour') ?? {};
  if (remaining >= quota / 2) return 0;
  return remaining >= quota / 5 ? 10_000 : 30_000;
}

function showFirst({ leads: newest, isFull }: Page): void {
  known = new Set();
  batch(() => {
    leads.value = [];
    hourCounts.value = new Map();
    addOlder(newest, isFull ? Date.parse(newest.at(-1)?.createdAt ?? '') : 0);
  });
}

/** Adds the leads that directly precede the loaded ones, newest first: all of them from a time on. */
export function addOlder(older: readonly Lead[], from: number): void {
  for (const { automation_trigger_id } of older) known.add(automation_trigger_id);
  batch(() => {
    const all = [...leads.value, ...older];
    leads.value = all.slice(0, MAX_LEADS);
    hasOlder.value = from > 0 || all.length > MAX_LEADS;
    loadedFrom.value = from;
    count(older);
  });
}

function count(added: readonly Lead[]): void {
  const firstHour = Math.floor(clock() / HOUR_MS) - COUNTED_HOURS;
  const counts = new Map([...hourCounts.value].filter(([hour]) => hour >= firstHour));
  for (const { createdAt } of added) {
    const hour = Math.floor(Date.parse(createdAt) / HOUR_MS);
    if (hour >= firstHour) counts.set(hour, (counts.get(hour) ?? 0) + 1);
  }
  hourCounts.value = counts;
}

function receive(lead: Lead): void {
  if (known.has(lead.automation_trigger_id)) return;
  known.add(lead.automation_trigger_id);
  arriving.push(lead);
  if (arriving.length === 1)
    setTimeout(showArrived, Math.max(COLLECT_MS, shownAt + MIN_UPDATE_MS - performance.now()));
}

function showArrived(): void {
  const arrived = arriving.reverse();
  arriving = [];
  if (arrived.length === 0) return;
  shownAt = performance.now();
  const ids = arrived.map(({ automation_trigger_id }) => automation_trigger_id);
  for (const id of ids) freshIds.add(id);
  setTimeout(() => {
    for (const id of ids) freshIds.delete(id);
  }, FRESH_MS);
  batch(() => {
    const all = [...arrived, ...leads.value];
    leads.value = all.slice(0, MAX_LEADS);
    if (all.length > MAX_LEADS) hasOlder.value = true;
    // A page that is open for weeks must not grow.
    if (known.size > 2 * MAX_LEADS)
      known = new Set(leads.value.map(({ automation_trigger_id }) => automation_trigger_id));
    arrivedCount.value += arrived.length;
    count(arrived);
  });
}

/** Ends early when the visitor asks for a retry or the network is back. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      wake = () => undefined;
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    wake = end;
  });
