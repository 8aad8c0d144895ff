/** Which leads are loaded: the newest ones, older ones when they are asked for, those of a day, or those with a text. */
import type { Lead, LeadtapError } from '@leadtap/client';
import { MAX_SEARCH_LENGTH } from '@leadtap/contract';
import { batch, computed, effect, signal } from '@preact/signals';
import { clock } from '../clock.ts';
import {
  addOlder,
  arrivedCount,
  COUNTED_HOURS,
  feedState,
  HOUR_MS,
  hasOlder,
  leads,
  loadedFrom,
  MAX_LEADS,
} from '../feed.ts';
import { place } from '../router.ts';
import { lastLimits, toLeadtapError } from '../service.ts';
import { type FindQuery, type FoundLeads, findLeads } from './find.ts';

/** The newest leads, as of when the list was last at its top, and how many had arrived by then. */
export const listed = signal<readonly Lead[]>([]);
const seenCount = signal(0);

/** New leads that are not in the list while it is scrolled: inserting them would move what the visitor reads. */
export const hiddenCount = computed(() => Math.max(0, arrivedCount.value - seenCount.value));

/** Inserts the new leads into the list. */
export const showAll = (): void =>
  batch(() => {
    listed.value = leads.value;
    seenCount.value = arrivedCount.value;
  });

export interface Day {
  /** Its first moment, and that of the next day, in the time zone of the visitor. */
  readonly start: number;
  readonly end: number;
}

/** What was found for a day, for a text, or for a text up to a day. */
export interface View extends FoundLeads {
  readonly day: Day | undefined;
  readonly text: string;
}

/** Undefined: the newest leads are shown. */
export const view = signal<View | undefined>(undefined);
export const day = computed(() => view.value?.day);

/** The leads in the list, before any filter. */
export const loadedLeads = computed(() => view.value?.leads ?? listed.value);
export const isFull = computed(() => (view.value?.leads ?? leads.value).length >= MAX_LEADS);
export const hasMore = computed(() => (view.value ? view.value.from > 0 : hasOlder.value));
const canLoad = computed(() => hasMore.value && !isFull.value);

/** What older leads are loaded for. */
type Purpose = 'plot' | 'list' | 'search';

export type Loading =
  | { readonly kind: 'idle' }
  | { readonly kind: 'loading'; readonly purpose: Purpose }
  /** `resumeAt`: until then, the rest of the rate limit is left to other programs. By the clock of this machine. */
  | { readonly kind: 'paused'; readonly purpose: Purpose; readonly resumeAt: number }
  | { readonly kind: 'failed'; readonly purpose: Purpose; readonly error: LeadtapError };

const IDLE: Loading = { kind: 'idle' };
export const loading = signal<Loading>(IDLE);

interface Goal {
  readonly purpose: Purpose;
  /** Called before each request. */
  readonly isReached: () => boolean;
}

let goal: Goal = { purpose: 'list', isReached: () => true };
let running: AbortController | undefined;

/** Loads older leads until the goal is reached, there are none, or no more are kept. */
async function loadUntil(purpose: Purpose, isReached: Goal['isReached']): Promise<void> {
  // Older leads are about to be in the list, whatever they are loaded for.
  if (running && purpose === 'list') return;
  goal = { purpose, isReached };
  if (running) return;
  const run = new AbortController();
  running = run;
  try {
    while (canLoad.peek() && !goal.isReached()) {
      loading.value = { kind: 'loading', purpose: goal.purpose };
      await loadOlder(run.signal);
    }
    stopLoading();
  } catch (thrown) {
    if (run.signal.aborted) return;
    stopLoading();
    // The plot itself shows what it lacks.
    if (goal.purpose !== 'plot')
      loading.value = { kind: 'failed', purpose: goal.purpose, error: toLeadtapError(thrown) };
  }
}

/** A search that has found so many more leads stops: they fill a screen. */
const ENOUGH = 25;

/** One page of older leads, or further leads with the text. */
export function loadMore(): void {
  const before = loadedLeads.peek();
  if (view.peek()?.text) void loadUntil('search', () => loadedLeads.peek().length >= before.length + ENOUGH);
  else void loadUntil('list', () => loadedLeads.peek() !== before);
}

export function stopLoading(): void {
  running?.abort();
  running = undefined;
  resume();
  loading.value = IDLE;
}

export const retryLoading = (): void => void loadUntil(goal.purpose, goal.isReached);

async function loadOlder(signal: AbortSignal): Promise<void> {
  const shown = view.peek();
  const oldest = leads.peek().at(-1);
  const { text, from: before } = shown ?? { text: '', from: loadedFrom.peek() };
  const found = await findWithinLimits({ before, text }, signal);
  if (shown) {
    view.value = { ...shown, leads: [...shown.leads, ...found.leads].slice(0, MAX_LEADS), from: found.from };
    return;
  }
  // So many have arrived meanwhile that the oldest one is no longer kept.
  if (leads.peek().at(-1) !== oldest) return;
  batch(() => {
    const { length } = leads.peek();
    addOlder(found.leads, found.from);
    // Without those that wait above, which may have arrived meanwhile.
    if (listed.peek().at(-1) === oldest) listed.value = [...listed.peek(), ...leads.peek().slice(length)];
  });
}

/** The part of each limit that is left to the automations of the user. */
const RESERVE = 1 / 5;
/** So many requests may use the reserve when the visitor does not want to wait. */
const GRANTED_REQUESTS = 20;
const MINUTE_MS = 60_000;

let granted = 0;
let resume: () => void = () => undefined;

/** When a request leaves enough of the limits. */
function allowedAt(): number {
  const known = lastLimits.peek();
  if (!known) return 0;
  const used = known.limits.filter(({ remaining, quota = 0 }) => remaining <= quota * RESERVE);
  return Math.max(0, ...used.map(({ resetMs }) => known.at + resetMs));
}

/** Continues although that uses the reserve. */
export function resumeNow(): void {
  granted = GRANTED_REQUESTS;
  resume();
}

async function pauseUntil(resumeAt: number, signal: AbortSignal): Promise<void> {
  const { purpose } = goal;
  if (purpose === 'plot') return stopLoading();
  loading.value = { kind: 'paused', purpose, resumeAt };
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, resumeAt - Date.now());
    resume = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  if (!signal.aborted) loading.value = { kind: 'loading', purpose };
}

/** Sends a request when the limits allow it, and again after a 429. */
async function findWithinLimits(query: FindQuery, signal: AbortSignal): Promise<FoundLeads> {
  for (;;) {
    const at = allowedAt();
    if (granted > 0) granted -= 1;
    else if (at > Date.now()) await pauseUntil(at, signal);
    signal.throwIfAborted();
    try {
      const found = await findLeads(query, signal);
      signal.throwIfAborted();
      return found;
    } catch (thrown) {
      signal.throwIfAborted();
      const { status, retryAfterMs } = toLeadtapError(thrown);
      if (status !== 429) throw thrown;
      granted = 0;
      await pauseUntil(Date.now() + (retryAfterMs ?? MINUTE_MS), signal);
    }
  }
}

/** What the date field has, and what the visitor has typed to search for. */
export const dateText = signal('');
export const filterText = signal('');

/** Shows the leads of a day and older ones, those with the text, or the newest leads. What was loaded before ends. */
function showView(): void {
  stopLoading();
  const start = new Date(`${dateText.peek()}T00:00`);
  const end = new Date(start);
  end.setDate(end.getDate() + 1);
  // While a year is typed, the date is one of the first centuries.
  const chosen = start.getTime() > 0 ? { start: start.getTime(), end: end.getTime() } : undefined;
  const text = filterText.peek().trim().slice(0, MAX_SEARCH_LENGTH);
  const before = chosen?.end ?? clock() + HOUR_MS;
  if (!chosen && text === '') {
    view.value = undefined;
    return;
  }
  const isFuture = chosen !== undefined && chosen.start > clock();
  view.value = { day: chosen, text, leads: [], from: isFuture ? 0 : before };
  if (!isFuture) loadMore();
}

export function showDay(date: string): void {
  dateText.value = date;
  showView();
  if (date === '') showAll();
}

export const showNewest = (): void => showDay('');

/** The text is searched for when no letter has followed for this time. */
const TYPING_MS = 400;
let typing: ReturnType<typeof setTimeout> | undefined;

/** What is loaded is filtered at once; then the service is searched. */
export function search(text: string): void {
  filterText.value = text;
  stopLoading();
  clearTimeout(typing);
  if (text.trim() === '') showView();
  else typing = setTimeout(showView, TYPING_MS);
}

/** The plot needs the leads of 24 hours. If these are too many, there is none. */
const MAX_PLOT_STEPS = 8;
let isPlotLoaded = false;

function loadForPlot(): void {
  isPlotLoaded = true;
  let steps = 0;
  void loadUntil('plot', () => {
    steps += 1;
    return steps > MAX_PLOT_STEPS || loadedFrom.peek() <= clock() - COUNTED_HOURS * HOUR_MS;
  });
}

effect(() => {
  const { kind } = feedState.value;
  if (kind === 'live' && !isPlotLoaded) loadForPlot();
  if (kind !== 'off') return;
  // The next token may see others.
  isPlotLoaded = false;
  filterText.value = '';
  showNewest();
});

// A search ends with its page.
effect(() => {
  if (place.value.tab !== 'leads' && goal.purpose !== 'plot') stopLoading();
});

// Leads are removed from memory when the token is forgotten, and those of another token replace them.
effect(() => {
  if (arrivedCount.value === 0) showAll();
});
