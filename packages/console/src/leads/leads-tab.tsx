import type { LeadtapError } from '@leadtap/client';
import { MAX_SEARCH_LENGTH } from '@leadtap/contract';
import { computed, signal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { now } from '../clock.ts';
import { EmptyState } from '../empty-state.tsx';
import { arrivedCount, feedState, isRefused, leads } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { isPhone, open, place } from '../router.ts';
import { session } from '../session.ts';
import { TestLead, TestLeadProgress } from '../test-lead/test-lead.tsx';
import { formatCount, nameOf, visible } from '../text.tsx';
import { formatWeekday } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';
import { LeadDetail } from './detail.tsx';
import { Export } from './export.tsx';
import { timeOf } from './find.ts';
import {
  type Day,
  dateText,
  day,
  filterText,
  hiddenCount,
  loadedLeads,
  search,
  showDay,
  showNewest,
  view,
} from './history.ts';
import { DAY_ID, Keyboard } from './keyboard.tsx';
import { LeadList } from './list.tsx';
import { ListLine } from './list-line.tsx';
import { isPaused } from './pause.ts';
import { rowOf } from './rows.ts';
import { FILTER_ID, filterStatus, itemOf, openedId, statuses } from './selection.ts';

export function LeadsTab(): JSX.Element {
  if (!session.value)
    return (
      <div class="check">
        <EmptyState drawing="no-token">
          <h1>Leads</h1>
          <p class="lede">With a token you see the leads that it may read, and each new one as it arrives.</p>
          <TokenForm />
        </EmptyState>
      </div>
    );
  return <Connected />;
}

function Connected(): JSX.Element {
  // Beside the list there is room for a lead: the newest one at the start.
  useSignalEffect(() => {
    const [newest] = day.value ? loadedLeads.value : leads.value;
    if (newest && place.value.item === '' && place.value.tab === 'leads' && !isPhone.value)
      open('leads', itemOf(newest), 'replace');
  });
  const { value: id } = openedId;
  useEffect(
    () => () => {
      // Back in the list of a phone, where the lead was opened.
      if (id !== '' && isPhone.value && place.value.item === '')
        requestAnimationFrame(() => rowOf(id)?.focus({ preventScroll: true }));
    },
    [id],
  );
  const isEmpty = leads.value.length === 0;
  const refusedBy = isEmpty && feedState.value.kind === 'stopped' ? feedState.value.error : hiddenBy.value;
  if (refusedBy) return <Refused error={refusedBy} />;
  return (
    <div class="split">
      <div class="list-side" inert={isPhone.value && place.value.item !== ''}>
        <h1 class="vh">Leads</h1>
        <Notice />
        {!isEmpty && <Controls />}
        {day.value && <DayNotice day={day.value} />}
        {!isEmpty && <TestLeadProgress />}
        {isEmpty ? <NoLeads /> : <LeadList />}
        <p class="vh" role="status">
          {arrivedCount.value > 0 &&
            !isPaused.value &&
            `New lead: ${nameOf(leads.value[0]?.fullName ?? '')}. ${arrivedCount.value} since you opened the page.`}
        </p>
      </div>
      {id !== '' && <LeadDetail key={id} />}
    </div>
  );
}

/** The error after which the visitor asked to see the loaded leads all the same. */
const revealedAfter = signal<LeadtapError | undefined>(undefined);

/** A token that no longer works, or a user who was removed: the leads may no longer be for the person at the screen. */
const hiddenBy = computed((): LeadtapError | undefined => {
  const state = feedState.value;
  if (state.kind !== 'stopped' || leads.value.length === 0) return undefined;
  return isRefused.value && state.error !== revealedAfter.value ? state.error : undefined;
});

const Refused = ({ error }: { readonly error: LeadtapError }) => (
  <div class="check">
    <EmptyState drawing="refused">
      <h1>Leads</h1>
      <Problem error={error} />
      {leads.value.length > 0 && (
        <p>
          <button
            type="button"
            onClick={() => {
              revealedAfter.value = error;
            }}
          >
            {leads.value.length === 1
              ? 'Show the lead that was loaded before'
              : `Show the ${leads.value.length} leads that were loaded before`}
          </button>
        </p>
      )}
      <TokenForm />
    </EmptyState>
  </div>
);

/** What is wrong, above the leads that were loaded before. */
function Notice(): JSX.Element | null {
  const state = feedState.value;
  const isKept = leads.value.length > 0;
  if (state.kind !== 'retrying' && state.kind !== 'stopped') return null;
  return (
    <div class="notice">
      {state.kind === 'retrying' ? <RetryNotice state={state} /> : <Problem error={state.error} />}
      {isKept && <p class="soft">The leads below were loaded before.</p>}
      {state.kind === 'stopped' && <TokenForm />}
    </div>
  );
}

/** One row: search, status, day, export, keys. Below it, how many leads the list has. */
function Controls(): JSX.Element {
  return (
    <>
      <search class="filter">
        <input
          id={FILTER_ID}
          type="search"
          aria-label="Search leads"
          placeholder="/ search"
          autocomplete="off"
          spellcheck={false}
          maxLength={MAX_SEARCH_LENGTH}
          value={filterText.value}
          onInput={({ currentTarget }) => search(currentTarget.value)}
        />
        <select
          aria-label="Status"
          value={filterStatus.value}
          onChange={({ currentTarget }) => {
            filterStatus.value = currentTarget.value;
          }}
        >
          <option value="">Status</option>
          {[...statuses.value.values()].map(({ value, label }) => (
            <option key={value} value={value}>
              {visible(label)}
            </option>
          ))}
        </select>
        <input
          id={DAY_ID}
          type="date"
          aria-label="Show the leads of a day"
          title="Show the leads of a day"
          value={dateText.value}
          onInput={({ currentTarget }) => showDay(currentTarget.value)}
        />
        <Export />
        <Keyboard />
      </search>
      <ListLine />
    </>
  );
}

function DayNotice({ day: { start, end } }: { readonly day: Day }): JSX.Element {
  const { leads: list = [], from = 0 } = view.value ?? {};
  const ofDay = list.filter((lead) => timeOf(lead) >= start).length;
  const isNoneBefore = from === 0 && list.length === 0;
  const countText =
    ofDay === 0 ? `no leads${isNoneBefore ? ' on this day or before' : ''}` : formatCount(ofDay);
  const leave = () => {
    showNewest();
    // The button goes with the day.
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.rows a')?.focus());
  };
  return (
    <div class="day">
      <p role="status">
        {formatWeekday(start)}
        {start > now.peek()
          ? ' is in the future: it has no leads yet.'
          : from < end && `: ${countText}${from > start ? ' loaded so far' : ''}.`}
        {ofDay < list.length && ' Older ones follow.'}
      </p>
      <button type="button" onClick={leave}>
        Back to the newest{hiddenCount.value > 0 ? ` (${hiddenCount.value} new)` : ''}
      </button>
    </div>
  );
}

function NoLeads(): JSX.Element | null {
  const { kind } = feedState.value;
  if (kind === 'loading') return <Skeleton />;
  if (kind !== 'live') return null;
  return (
    <EmptyState drawing="no-leads">
      <h2>No leads yet</h2>
      <p class="lede">They appear here by themselves.</p>
      <TestLead />
    </EmptyState>
  );
}

const Skeleton = () => (
  <div class="skeleton after-200ms" role="status">
    <span class="vh">Loading the leads…</span>
    {[1, 2, 3, 4, 5, 6].map((row) => (
      <span key={row} />
    ))}
  </div>
);
