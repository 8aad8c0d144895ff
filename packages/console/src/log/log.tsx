import type { Attempt } from '@leadtap/contract';
import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { consumerList } from '../consumers/consumer-list.ts';
import { ConsumerName } from '../consumers/consumer-row.tsx';
import { ListDelay } from '../consumers/who-has-it.tsx';
import { feedState } from '../feed.ts';
import { explain, Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { close, hrefOf, place } from '../router.ts';
import { lastLimits } from '../service.ts';
import { session } from '../session.ts';
import { visible } from '../text.tsx';
import { formatWeekday } from '../time.tsx';
import {
  entryOfLead,
  hasOlder,
  keyOf,
  loadingOlder,
  loadOlder,
  newestPage,
  openKeys,
  shownEntries,
  showWaiting,
  waitingCount,
} from './entries.ts';
import { Entry, lineIdOf } from './entry.tsx';
import { openedLog, SHOWN, type Shown, show, shown, wantedLead } from './opened.ts';

/** Without a token that works, the Overview asks for one. */
export const isLogOpen = computed(
  () => openedLog.value !== '' && session.value !== undefined && feedState.value.kind !== 'stopped',
);

const INTERVAL_MS = 5000;
/** When half of the limit of the hour is used. */
const SLOW_INTERVAL_MS = 30_000;

const isHalfUsed = computed(() => {
  const { remaining = 1, quota = 1 } = lastLimits.value?.limits.find(({ name }) => name === 'hour') ?? {};
  return remaining < quota / 2;
});

/** What a consumer or a sender received or sent, when, and why it was refused. */
export function Log(): JSX.Element {
  const log = openedLog.value;
  newestPage.use(isHalfUsed.value ? SLOW_INTERVAL_MS : INTERVAL_MS);
  useEffect(
    () => () => {
      if (place.peek().tab === 'overview') requestAnimationFrame(() => focusRow(log));
    },
    [log],
  );
  const state = newestPage.state.value;
  const connection = feedState.value;
  return (
    <div class="log">
      <p class="back-link">
        <a href={hrefOf('overview')} onClick={leave}>
          ← Overview
        </a>
      </p>
      <h1>
        {state.kind === 'not-recorded' ? (
          'No such log'
        ) : (
          <>
            Log <Name name={state.kind === 'listed' ? state.name : null} />
          </>
        )}
      </h1>
      {connection.kind === 'retrying' && <RetryNotice state={connection} />}
      {state.kind === 'listed' ? (
        <Entries />
      ) : state.kind === 'failed' ? (
        <Problem error={state.error} />
      ) : state.kind === 'not-recorded' ? (
        <p>
          It was removed, or belongs to another user, or the address is not complete. The{' '}
          <a href={hrefOf('overview')}>Overview</a> lists all that there is.
        </p>
      ) : (
        <p class="after-200ms">Asking the service…</p>
      )}
      {connection.kind === 'live' && <ListDelay delay={newestPage.delay.value ?? undefined} />}
    </div>
  );
}

function leave(event: Event): void {
  event.preventDefault();
  close();
}

/** That of the Overview, which may be folded. */
function focusRow(log: string): void {
  const link = document.querySelector<HTMLElement>(`a[href="${CSS.escape(hrefOf('overview', log))}"]`);
  link?.closest('details')?.setAttribute('open', '');
  link?.focus();
}

function Name({ name }: { readonly name: string | null }): JSX.Element | null {
  const list = consumerList.value;
  const id = openedLog.value.split('/')[1];
  const consumer = list.kind === 'listed' ? list.consumers.find((one) => one.id === id) : undefined;
  if (!consumer && name === null) return null;
  return <>of {consumer ? <ConsumerName consumer={consumer} /> : <bdi>{visible(name ?? '')}</bdi>}</>;
}

const dayOf = ({ at }: Attempt): string => formatWeekday(Date.parse(at));

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
      <div class="log-bar">
        <fieldset aria-label="Show">
          {(Object.keys(SHOWN) as Shown[]).map((what) => (
            <button
              key={what}
              type="button"
              class="small"
              aria-pressed={shown.value === what}
              onClick={() => show(what)}
            >
              {SHOWN[what]}
            </button>
          ))}
        </fieldset>
        <span role="status">
          {waitingCount.value > 0 && (
            <button type="button" class="pill primary small" onClick={toTop}>
              <span aria-hidden="true">↑ </span>
              {waitingCount} new
            </button>
          )}
        </span>
      </div>
      {wantedLead.value !== null && !found && !hasOlder.value && (
        <p role="status">The lead is not in this log: it may be older than the log, or was not sent.</p>
      )}
      {entries.length === 0 && <Nothing />}
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
      {hasOlder.value && <Older />}
      <p class="faint">
        At most 100 entries of 30 days, times in {Intl.DateTimeFormat().resolvedOptions().timeZone}. If the
        service crashes, the last seconds before it are missing.
      </p>
    </>
  );
}

const NOTHING: Readonly<Record<Shown, string>> = {
  all: 'Nothing yet: leads appear here when they are sent, and requests when they are refused.',
  leads: 'No leads yet.',
  failed: 'Nothing has failed.',
};

const Nothing = () => (hasOlder.value ? null : <p>{NOTHING[shown.value]}</p>);

function Older(): JSX.Element {
  const state = loadingOlder.value;
  return (
    <p>
      {typeof state === 'object' && <span role="alert">{explain(state).title}. </span>}
      <button type="button" onClick={loadOlder}>
        {state === 'idle' ? 'Show older' : state === 'loading' ? 'Loading…' : 'Try again'}
      </button>
    </p>
  );
}
