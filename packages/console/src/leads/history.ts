/** Which leads are loaded: the newest ones, older ones when they are asked for, or those of a day. */
import { type Lead, type LeadtapError, type Page, type PollOptions, poll } from '@leadtap/client';
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
  reportContact,
} from '../feed.ts';
import { baseUrl, environment, lastLimits, toLeadtapError } from '../service.ts';
import { session } from '../session.ts';
import { createReadBack, spanOf } from './read-back.ts';

/** The newest leads, as of when the list was last at its top, and how many had arrived by then. */
const listed = signal<readonly Lead[]>([]);
const seenCount = signal(0);

/** Leads that wait above a list that is scrolled: inserting them would move what the visitor reads. */
export const waitingCount = computed(() => Math.max(0, arrivedCount.value - seenCount.value));

/** Shows the leads that wait. */
export const showAll = (): void =>
  batch(() => {
    listed.value = leads.value;
    seenCount.value = arrivedCount.value;
  });

export interface Day {
  /** Its first moment, and that of the next day, in the time zone of the visitor. */
  readonly start: number;
  readonly end: number;
  /** Newest first: those of the day, then older ones. */
  readonly leads: readonly Lead[];
  /** All leads from this time until the end of the day, or until it was chosen, are loaded; 0: there are no older ones. */
  readonly from: number;
}

/** The day that the visitor has chosen. Undefined: the newest leads are shown. */
export const day = signal<Day | undefined>(undefined);

/** The leads in the list, before any filter. */
export const loadedLeads = computed(() => day.value?.leads ?? listed.value);
export const isFull = computed(() => (day.value?.leads ?? leads.value).length >= MAX_LEADS);
export const hasMore = computed(() => (day.value ? day.value.from > 0 : hasOlder.value));
const canLoad = computed(() => hasMore.value && !isFull.value);

/** What older leads are loaded for. */
type Purpose = 'plot' | 'list' | 'search' | 'link';

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
  /** Called before each step back. */
  readonly isReached: () => boolean;
}

let goal: Goal = { purpose: 'list', isReached: () => true };
let running: AbortController | undefined;
let readBack = createReadBack(readPage);

/** Loads older leads until the goal is reached, there are none, or no more are kept. */
export async function loadUntil(purpose: Purpose, isReached: Goal['isReached']): Promise<void> {
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

/** One step back. */
export function loadMore(): void {
  const before = loadedLeads.peek();
  void loadUntil('list', () => loadedLeads.peek() !== before);
}

export function stopLoading(): void {
  running?.abort();
  running = undefined;
  resume();
  loading.value = IDLE;
}

export const retryLoading = (): void => void loadUntil(goal.purpose, goal.isReached);

async function loadOlder(signal: AbortSignal): Promise<void> {
  const chosen = day.peek();
  const list = chosen?.leads ?? leads.peek();
  const oldest = list.at(-1);
  const { leads: found, from } = await (chosen
    ? readBack(chosen.from, chosen.from === chosen.end ? chosen.end - chosen.start + 1 : spanOf(list))
    : readBack(loadedFrom.peek(), spanOf(list)));
  signal.throwIfAborted();
  if (chosen) {
    day.value = { ...chosen, leads: [...list, ...found].slice(0, MAX_LEADS), from };
    return;
  }
  // So many have arrived meanwhile that the oldest one is no longer kept.
  if (leads.peek().at(-1) !== oldest) return;
  batch(() => {
    const { length } = leads.peek();
    addOlder(found, from);
    // Without those that wait above, which may have arrived meanwhile.
    if (listed.peek().at(-1) === oldest) listed.value = [...listed.peek(), ...leads.peek().slice(length)];
  });
}

/** The part of each limit that is left to the automations of the user. */
const RESERVE = 1 / 5;
/** So many requests may use the reserve when the visitor does not want to wait. */
const GRANTED_REQUESTS = 20;

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
async function readPage(since: number): Promise<readonly Lead[]> {
  const signal = (running ?? new AbortController()).signal;
  for (;;) {
    const at = allowedAt();
    if (granted > 0) granted -= 1;
    else if (at > Date.now()) await pauseUntil(at, signal);
    signal.throwIfAborted();
    try {
      return (await pollAt({ since: new Date(since), signal })).leads;
    } catch (thrown) {
      signal.throwIfAborted();
      const { status, retryAfterMs } = toLeadtapError(thrown);
      if (status !== 429) throw thrown;
      granted = 0;
      await pauseUntil(Date.now() + (retryAfterMs ?? MINUTE_MS), signal);
    }
  }
}

const MINUTE_MS = 60_000;

/** Polls with the token of the page. Whether the service answers counts for the whole page. */
export async function pollAt(query: Pick<PollOptions, 'since' | 'limit' | 'signal'>): Promise<Page> {
  try {
    const page = await poll({ baseUrl, token: session.peek()?.token ?? '', environment, ...query });
    reportContact();
    return page;
  } catch (thrown) {
    if (!query.signal?.aborted) reportContact(toLeadtapError(thrown));
    throw thrown;
  }
}

/** Shows the leads of a day, and after them older ones. */
export function showDay(date: string): void {
  const start = new Date(`${date}T00:00`);
  const end = new Date(start);
  end.setDate(end.getDate() + 1);
  stopLoading();
  dateText.value = date;
  const [from, to, now] = [start.getTime(), end.getTime(), clock()];
  // While a year is typed, the date is one of the first centuries.
  day.value = from > 0 ? { start: from, end: to, leads: [], from: from > now ? now : to } : undefined;
  if (from > 0 && from <= now) loadMore();
  else showAll();
}

/** What the date field has. */
export const dateText = signal('');

export const showNewest = (): void => showDay('');

/** The plot needs the leads of 24 hours. If these are too many, it shows fewer hours. */
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
  readBack = createReadBack(readPage);
  showNewest();
});

// Leads are removed from memory when the token is forgotten, and those of another token replace them.
effect(() => {
  if (arrivedCount.value === 0) showAll();
});
