/** The entries of the opened log. New ones wait while the visitor reads: inserting them would move what is read. */
import type { LeadtapError } from '@leadtap/client';
import type { Attempt, AttemptLog } from '@leadtap/contract';
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { ask } from '../ask.ts';
import { createPolledList } from '../polled-list.ts';
import { toLeadtapError } from '../service.ts';
import { openedLog, type Shown, shown, wantedLead } from './opened.ts';

const isLog = (body: unknown): body is AttemptLog =>
  typeof body === 'object' && body !== null && 'log' in body && Array.isArray(body.log);

/** Requested again every few seconds. */
const PAGE = 30;
/** The most that a response has. */
const MAX_PAGE = 100;

function pathOf(limit: number, before = ''): string {
  const [owner, id] = openedLog.value.split('/');
  // While the page of a log is being left, there is none.
  if (!owner || !id) return '';
  return `/automation/${owner}/${encodeURIComponent(id)}/log?limit=${limit}${before && `&before=${before}`}`;
}

export const newestPage = createPolledList(() => pathOf(PAGE), isLog);

/** An entry keeps it while it grows. */
export const keyOf = ({ kind, firstAt }: Attempt): string => `${kind} ${firstAt}`;

/** Newest first, without a gap. */
const entries = signal<readonly Attempt[]>([]);
/** The keys of those that do not wait. */
const readKeys = signal<ReadonlySet<string>>(new Set());
export const openKeys = signal<ReadonlySet<string>>(new Set());
export const hasOlder = signal(false);
export const loadingOlder = signal<'idle' | 'loading' | LeadtapError>('idle');

export const hasFailed = ({ kind }: Attempt): boolean => kind === 'refused' || kind === 'failed';

const FILTERS: Readonly<Record<Shown, (entry: Attempt) => boolean>> = {
  all: () => true,
  leads: ({ kind }) => kind === 'leads',
  failed: hasFailed,
};

const matching = computed(() => entries.value.filter(FILTERS[shown.value]));
export const shownEntries = computed(() => matching.value.filter((one) => readKeys.value.has(keyOf(one))));
/** Entries that wait above. */
export const waitingCount = computed(
  () => matching.value.filter((one) => one.kind !== 'empty' && !readKeys.value.has(keyOf(one))).length,
);

export function showWaiting(): void {
  readKeys.value = new Set(entries.peek().map(keyOf));
}

const isReading = (): boolean =>
  openKeys.peek().size > 0 ||
  Math.max(document.getElementById('main')?.scrollTop ?? 0, document.documentElement.scrollTop) > 8;

effect(() => {
  const state = newestPage.state.value;
  if (state.kind === 'listed') untracked(() => batch(() => addNewest(state.log)));
  else if (state.kind === 'loading')
    batch(() => {
      entries.value = [];
      openKeys.value = new Set();
      loadingOlder.value = 'idle';
    });
});

function addNewest(newest: readonly Attempt[]): void {
  const keys = new Set(newest.map(keyOf));
  const known = entries.peek();
  const oldestAt = newest.at(-1)?.at ?? '';
  if (known.some((one) => keys.has(keyOf(one)))) {
    entries.value = [...newest, ...known.filter((one) => one.at < oldestAt && !keys.has(keyOf(one)))];
    if (!isReading()) showWaiting();
    return;
  }
  // The first page, or so many entries later that those between are not known.
  entries.value = newest;
  hasOlder.value = newest.length === PAGE;
  showWaiting();
}

export async function loadOlder(): Promise<void> {
  if (loadingOlder.peek() === 'loading') return;
  loadingOlder.value = 'loading';
  const log = openedLog.peek();
  const before = entries.peek().at(-1)?.at;
  try {
    const { body } = await ask(pathOf(MAX_PAGE, before), isLog);
    if (openedLog.peek() !== log) return;
    batch(() => {
      loadingOlder.value = 'idle';
      if (entries.peek().at(-1)?.at !== before) return;
      entries.value = [...entries.peek(), ...body.log];
      readKeys.value = new Set([...readKeys.peek(), ...body.log.map(keyOf)]);
      hasOlder.value = body.log.length === MAX_PAGE;
    });
  } catch (thrown) {
    if (openedLog.peek() === log) loadingOlder.value = toLeadtapError(thrown);
  }
}

// A filter and a lead look at the whole log.
effect(() => {
  const isSearch = shown.value !== 'all' || wantedLead.value !== null;
  if (isSearch && entries.value.length > 0 && hasOlder.value && loadingOlder.value === 'idle')
    void loadOlder();
});

/** The first time that it got the lead. Undefined: it is not known yet, or not in the log. */
export const entryOfLead = computed((): Attempt | undefined => {
  const createdAt = wantedLead.value;
  if (createdAt === null || hasOlder.value) return undefined;
  return entries.value
    .filter(
      ({ leads, since, through }) =>
        leads > 0 && since !== null && through !== null && since < createdAt && createdAt <= through,
    )
    .at(-1);
});
