/** The entries of the opened log. New ones wait while the visitor reads: inserting them would move what is read. */
import { CONNECTIONS_PATH, type ConnectionLog, type LogEntry } from '@leadtap/contract';
import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { createPolledList } from '../polled-list.ts';
import { openedLog, wantedLead } from './opened-log.ts';

const isLog = (body: unknown): body is ConnectionLog =>
  typeof body === 'object' && body !== null && 'log' in body && Array.isArray(body.log);

/** Requested again every few seconds. */
const PAGE = 30;
/** The most that a log has. */
const ALL = 100;

const wantsAll = signal(false);
// A lead is looked for in the whole log.
const limit = computed(() => (wantsAll.value || wantedLead.value !== null ? ALL : PAGE));

export const logList = createPolledList(
  () => openedLog.value && `${CONNECTIONS_PATH}/${encodeURIComponent(openedLog.value)}/log`,
  isLog,
  () => `?limit=${limit.value}`,
);

/** An entry keeps it while it grows. */
export const keyOf = ({ kind, firstAt }: LogEntry): string => `${kind} ${firstAt}`;

/** Newest first. */
const entries = computed((): readonly LogEntry[] =>
  logList.state.value.kind === 'listed' ? logList.state.value.log : [],
);
export const hasOlder = computed(() => limit.value < ALL && entries.value.length >= limit.value);
/** The newest one that does not wait. */
const readThrough = signal('');
export const openKeys = signal<ReadonlySet<string>>(new Set());

export const showOlder = (): void => {
  wantsAll.value = true;
};

export const hasFailed = ({ kind }: LogEntry): boolean => kind === 'refused' || kind === 'failed';

const isWaiting = ({ firstAt }: LogEntry): boolean => firstAt > readThrough.value;
export const shownEntries = computed(() => entries.value.filter((one) => !isWaiting(one)));
/** Entries that wait above. */
export const waitingCount = computed(
  () => entries.value.filter((one) => one.kind !== 'empty' && isWaiting(one)).length,
);

export function showWaiting(): void {
  readThrough.value = entries.peek().reduce((last, { firstAt }) => (firstAt > last ? firstAt : last), '');
}

const isReading = (): boolean =>
  openKeys.peek().size > 0 ||
  Math.max(document.getElementById('main')?.scrollTop ?? 0, document.documentElement.scrollTop) > 8;

effect(() => {
  const { kind } = logList.state.value;
  untracked(() => {
    if (kind !== 'loading') {
      if (readThrough.peek() === '' || !isReading()) showWaiting();
      return;
    }
    batch(() => {
      readThrough.value = '';
      openKeys.value = new Set();
      wantsAll.value = false;
    });
  });
});

/** The last time that it got the lead. Undefined: it is not known yet, or not in the log. */
export const entryOfLead = computed((): LogEntry | undefined => {
  const id = wantedLead.value;
  return id === null ? undefined : entries.value.find(({ leadIds }) => leadIds.includes(id));
});
