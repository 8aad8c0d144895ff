import type { LogEntry } from '@leadtap/contract';
import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { feedState } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { close, hrefOf, place } from '../router.ts';
import { lastLimits } from '../service.ts';
import { session } from '../session.ts';
import { visible } from '../text.tsx';
import { formatWeekday } from '../time.tsx';
import { ConnectionRow } from './connection-row.tsx';
import { findConnection, useConnections } from './list.ts';
import {
  entryOfLead,
  hasOlder,
  keyOf,
  logList,
  openKeys,
  shownEntries,
  showOlder,
  showWaiting,
  waitingCount,
} from './log-entries.ts';
import { Entry, lineIdOf } from './log-entry.tsx';
import { logHref, openedLog, wantedLead } from './opened-log.ts';
import { ListDelay } from './who-has-it.tsx';

/** Without a token that works, the Overview asks for one. */
export const isLogOpen = computed(
  () => openedLog.value !== '' && session.value !== undefined && feedState.value.kind !== 'stopped',
);

const INTERVAL_MS = 5000;
/** When half of the limit of the hour is used, and of the list. */
const SLOW_INTERVAL_MS = 30_000;

const isHalfUsed = computed(() => {
  const { remaining = 1, quota = 1 } = lastLimits.value?.limits.find(({ name }) => name === 'hour') ?? {};
  return remaining < quota / 2;
});

/** A connection: its state and what can be done, and what it received or sent, when, and why it was refused. */
export function Log(): JSX.Element {
  const id = openedLog.value;
  logList.use(isHalfUsed.value ? SLOW_INTERVAL_MS : INTERVAL_MS);
  useConnections(SLOW_INTERVAL_MS);
  useEffect(
    () => () => {
      if (place.peek().tab === 'overview') requestAnimationFrame(() => focusRow(id));
    },
    [id],
  );
  const state = logList.state.value;
  const feed = feedState.value;
  const connection = findConnection(id);
  const name = connection?.name ?? (state.kind === 'listed' ? state.name : '');
  const isMissing = state.kind === 'failed' && state.error.code === 'no-such-resource';
  return (
    <div class="log">
      <p class="back-link">
        <a href={hrefOf('overview')} onClick={leave}>
          ← Overview
        </a>
      </p>
      <h1>{isMissing ? 'No such log' : <bdi>{visible(name)}</bdi>}</h1>
      {connection && (
        <ul class="connections">
          <ConnectionRow connection={connection} isWhole isOpen />
        </ul>
      )}
      {feed.kind === 'retrying' && <RetryNotice state={feed} />}
      {state.kind === 'listed' ? (
        <Entries />
      ) : isMissing ? (
        <p>
          It was removed, or belongs to another company, or the address is not complete. The{' '}
          <a href={hrefOf('overview')}>Overview</a> lists all that there is.
        </p>
      ) : state.kind === 'failed' ? (
        <Problem error={state.error} />
      ) : (
        <p class="after-200ms">Asking the service…</p>
      )}
      {feed.kind === 'live' && <ListDelay delay={logList.delay.value} />}
    </div>
  );
}

function leave(event: Event): void {
  event.preventDefault();
  close();
}

const focusRow = (id: string): void =>
  document.querySelector<HTMLElement>(`a[href="${CSS.escape(logHref(id))}"]`)?.focus();

const dayOf = ({ at }: LogEntry): string => formatWeekday(Date.parse(at));

function Entries(): JSX.Element {
  const entries = shownEntries.value;
  const found = entryOfLead.value;
  useEffect(() => {
    if (!found) return;
    openKeys.value = new Set([keyOf(found)]);
    requestAnimationFrame(() => {
      const line = document.getElementById(lineIdOf(found));
      line?.focus({ preventScroll: true });
      line?.scrollIntoView({ block: 'center' });
    });
  }, [found && keyOf(found)]);
  const toTop = () => {
    showWaiting();
    for (const scroller of [document.getElementById('main'), document.documentElement])
      scroller?.scrollTo(0, 0);
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>('.log-line')?.focus({ preventScroll: true }),
    );
  };
  const days = new Set(entries.map(dayOf));
  return (
    <>
      <p class="log-bar" role="status">
        {waitingCount.value > 0 && (
          <button type="button" class="pill primary small" onClick={toTop}>
            <span aria-hidden="true">↑ </span>
            {waitingCount} new
          </button>
        )}
      </p>
      {wantedLead.value !== null && !found && !hasOlder.value && (
        <p role="status">The lead is not in this log: it may be older than the log, or was not sent.</p>
      )}
      {entries.length === 0 && (
        <p>Nothing yet: leads appear here when they are sent, and requests when they are refused.</p>
      )}
      {[...days].map((day) => (
        <section key={day}>
          <h2>{day}</h2>
          <ol class="log-entries">
            {entries
              .filter((entry) => dayOf(entry) === day)
              .map((entry) => (
                <Entry key={keyOf(entry)} entry={entry} />
              ))}
          </ol>
        </section>
      ))}
      {hasOlder.value && (
        <p>
          <button type="button" onClick={showOlder}>
            Show older
          </button>
        </p>
      )}
      <p class="faint">
        At most 100 entries, times in {Intl.DateTimeFormat().resolvedOptions().timeZone}. If the service
        crashes, the last seconds before it are missing.
      </p>
    </>
  );
}
