/** The leads that the token may see: the newest ones first, then each new one as it arrives. */
import { type Lead, type LeadtapError, newLeads, type Page, poll } from '@leadtap/client';
import { batch, signal } from '@preact/signals';
import { clock } from './clock.ts';
import { baseUrl, environment, observedFetch, toLeadtapError } from './service.ts';

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

/** More are not kept: the list stays fast, and the newest are what people watch. */
const MAX_LEADS = 1000;
/** Between polls of a service that does not hold requests. */
const INTERVAL_MS = 15_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** A request that was held for as long may have been ended by a proxy: the client then asks for a shorter wait. */
const HELD_MS = 10_000;
/** Leads that arrive together are shown together. */
const COLLECT_MS = 50;

export const feedState = signal<FeedState>({ kind: 'off' });
/** Newest first. */
export const leads = signal<readonly Lead[]>([]);
/** Whether the service has older leads than the first page. */
export const hasOlder = signal(false);
/** How many leads have arrived since the first page. */
export const arrivedCount = signal(0);

/** The leads that have just arrived, which the list moves in. */
export const freshIds = new Set<string>();
const FRESH_MS = 1000;

let running = new AbortController();
let wake: () => void = () => undefined;
let endHeldRequest: () => void = () => undefined;
let known = new Set<string>();
let arriving: Lead[] = [];

export function startFeed(token: string): void {
  stopFeed();
  feedState.value = { kind: 'loading' };
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
  });
}

/** Ends the pause between two attempts. */
export const retryNow = (): void => wake();
addEventListener('online', retryNow);
// A request that is held would notice only when it ends.
addEventListener('offline', () => endHeldRequest());

/** Ends when the signal is aborted, or with an error that no retry can change. */
async function follow(token: string, signal: AbortSignal): Promise<void> {
  let since: string | undefined;
  let failures = 0;
  let failingSince = 0;
  while (!signal.aborted) {
    try {
      const page = await poll({ baseUrl, token, since, environment, signal });
      if (signal.aborted) return;
      if (since === undefined) showFirst(page);
      else page.leads.forEach(receive);
      since = page.nextSince ?? since ?? new Date(0).toISOString();
      failures = 0;
      feedState.value = { kind: 'live', isHeld: true };
      for await (const lead of followUntilFailure(token, since, signal)) {
        receive(lead);
        since = lead.createdAt;
      }
    } catch (thrown) {
      if (signal.aborted) return;
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

/**
 * The client retries by itself. Here its first failure ends the loop, because the page shows failures, and because the first
 * request after one must not be held: it shows that the service answers again.
 */
async function* followUntilFailure(token: string, since: string, signal: AbortSignal): AsyncGenerator<Lead> {
  const loop = new AbortController();
  const abort = () => loop.abort();
  signal.addEventListener('abort', abort);
  endHeldRequest = abort;
  let failure: LeadtapError | undefined;
  let sentAt = 0;
  const fetch = async (...request: Parameters<typeof observedFetch>) => {
    sentAt = Date.now();
    const response = await observedFetch(...request);
    const isHeld = /\bwait\b/i.test(response.headers.get('preference-applied') ?? '');
    if (response.ok && !loop.signal.aborted) feedState.value = { kind: 'live', isHeld };
    return response;
  };
  const onRetry = (error: LeadtapError) => {
    if (Date.now() - sentAt >= HELD_MS && error.retryAfterMs === undefined) return;
    failure = error;
    loop.abort();
  };
  try {
    yield* newLeads({
      baseUrl,
      token,
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
  if (failure) throw failure;
}

function showFirst({ leads: newest, isFull }: Page): void {
  known = new Set(newest.map((lead) => lead.automation_trigger_id));
  batch(() => {
    leads.value = newest;
    hasOlder.value = isFull;
  });
}

function receive(lead: Lead): void {
  if (known.has(lead.automation_trigger_id)) return;
  known.add(lead.automation_trigger_id);
  arriving.push(lead);
  if (arriving.length === 1) setTimeout(showArrived, COLLECT_MS);
}

function showArrived(): void {
  const arrived = arriving.reverse();
  arriving = [];
  if (arrived.length === 0) return;
  const ids = arrived.map(({ automation_trigger_id }) => automation_trigger_id);
  for (const id of ids) freshIds.add(id);
  setTimeout(() => {
    for (const id of ids) freshIds.delete(id);
  }, FRESH_MS);
  batch(() => {
    const all = [...arrived, ...leads.value];
    leads.value = all.slice(0, MAX_LEADS);
    if (all.length > MAX_LEADS) hasOlder.value = true;
    arrivedCount.value += arrived.length;
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
