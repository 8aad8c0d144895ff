import type { LeadtapError } from '@leadtap/client';
import { computed, signal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { arrivedCount, feedState, leads } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { isPhone, open, place } from '../router.ts';
import { session } from '../session.ts';
import { CopyButton } from '../text.tsx';
import { TokenForm } from '../token-form.tsx';
import { LeadDetail } from './detail.tsx';
import { Keyboard, rowOf } from './keyboard.tsx';
import { LeadList } from './list.tsx';
import { FILTER_ID, filterStatus, filterText, shownLeads, statuses } from './selection.ts';

export function LeadsTab(): JSX.Element {
  if (!session.value)
    return (
      <div class="check">
        <h1>Leads</h1>
        <TokenForm />
      </div>
    );
  return <Connected />;
}

function Connected(): JSX.Element {
  // Beside the list there is room for a lead: the newest one at the start.
  useSignalEffect(() => {
    const newest = leads.value[0];
    if (newest && place.value.item === '' && place.value.tab === 'leads' && !isPhone.value)
      open('leads', newest.automation_trigger_id, 'replace');
  });
  const { item } = place.value;
  useEffect(
    () => () => {
      // Back in the list of a phone, where the lead was opened.
      if (item !== '' && isPhone.value && place.value.item === '')
        requestAnimationFrame(() => rowOf(item)?.focus({ preventScroll: true }));
    },
    [item],
  );
  const isEmpty = leads.value.length === 0;
  if (hiddenBy.value) return <HiddenLeads error={hiddenBy.value} />;
  return (
    <div class="split">
      <div class="list-side" inert={isPhone.value && place.value.item !== ''}>
        <h1 class="vh">Leads</h1>
        <Notice />
        {!isEmpty && <FilterBar />}
        {isEmpty ? <NoLeads /> : <LeadList />}
        <p class="vh" role="status">
          {arrivedCount.value > 0 &&
            `New lead: ${leads.value[0]?.fullName}. ${arrivedCount.value} since you opened the page.`}
        </p>
      </div>
      {item !== '' && <LeadDetail key={item} />}
    </div>
  );
}

/** The error after which the visitor asked to see the loaded leads all the same. */
const revealedAfter = signal<LeadtapError | undefined>(undefined);

/** A token that no longer works, or a user who was removed: the leads may no longer be for the person at the screen. */
const hiddenBy = computed((): LeadtapError | undefined => {
  const state = feedState.value;
  if (state.kind !== 'stopped' || leads.value.length === 0) return undefined;
  const isRefused = state.error.status === 401 || state.error.status === 404;
  return isRefused && state.error !== revealedAfter.value ? state.error : undefined;
});

const HiddenLeads = ({ error }: { readonly error: LeadtapError }) => (
  <div class="check hidden-leads">
    <h1>Leads</h1>
    <Problem error={error} />
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
    <TokenForm />
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

function FilterBar(): JSX.Element {
  const isFiltered = filterText.value !== '' || filterStatus.value !== '';
  return (
    <search class="filter">
      <label class="vh" for={FILTER_ID}>
        Filter the loaded leads
      </label>
      <input
        id={FILTER_ID}
        type="search"
        placeholder="/ filter"
        autocomplete="off"
        spellcheck={false}
        value={filterText.value}
        onInput={({ currentTarget }) => {
          filterText.value = currentTarget.value;
        }}
      />
      <select
        aria-label="Status"
        value={filterStatus.value}
        onChange={({ currentTarget }) => {
          filterStatus.value = currentTarget.value;
        }}
      >
        <option value="">All statuses</option>
        {[...statuses.value.values()].map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {/* Not announced for every lead that arrives. */}
      <span class="soft" role={isFiltered ? 'status' : undefined}>
        {isFiltered ? `${shownLeads.value.length} of ${leads.value.length}` : leads.value.length}
      </span>
      <Keyboard />
    </search>
  );
}

const TEST_COMMAND = 'leadtap leads send-test --company ID';

function NoLeads(): JSX.Element | null {
  const { kind } = feedState.value;
  if (kind === 'loading') return <Skeleton />;
  if (kind !== 'live') return null;
  return (
    <div class="empty">
      <p>No leads yet. They appear here by themselves.</p>
      <p class="soft">The operator of the service sends a test lead with this command:</p>
      <pre>{TEST_COMMAND}</pre>
      <CopyButton text={() => TEST_COMMAND}>Copy the command</CopyButton>
    </div>
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
