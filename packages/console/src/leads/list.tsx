import type { Lead } from '@leadtap/client';
import { untracked, useSignal, useSignalEffect } from '@preact/signals';
import { Component, type JSX, type TargetedMouseEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { arrivedCount, freshIds, leads, MAX_LEADS } from '../feed.ts';
import { hrefOf, isPhone, open } from '../router.ts';
import { formatExact, formatShort, Time } from '../time.tsx';
import { focusDetail } from './detail.tsx';
import { day, hasMore, isFull, loadedLeads, loading, loadMore, showAll, waitingCount } from './history.ts';
import { FULL_TEXT, LoadOlder } from './loading.tsx';
import { isPaused } from './pause.ts';
import {
  clearFilter,
  FILTER_ID,
  filterStatus,
  filterText,
  isFiltered,
  itemOf,
  openedId,
  shownLeads,
} from './selection.ts';
import { Status } from './status.tsx';

/**
 * So many rows are added when their end is near, and removed when it is far below. Thousands of rows would take a second after a
 * filter, and half of the time of a processor while 20 leads per second arrive.
 */
const ADDED_ROWS = 100;
const NEAR_END_PX = 800;

/** The leads, newest first. While it is scrolled or paused, new leads wait above it. */
export function LeadList(): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const rowCount = useSignal(ADDED_ROWS);
  // One column: the page scrolls, not the list.
  const scroller = () => (isPhone.value ? document.documentElement : list.current);
  const mayMove = (): boolean => !isPaused.value && !day.peek() && (scroller()?.scrollTop ?? 0) < 8;
  const addRows = () => {
    rowCount.value += ADDED_ROWS;
    loadMore();
  };
  const belowPx = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = scroller() ?? {};
    return scrollHeight - scrollTop - clientHeight;
  };
  /** Shows the leads that wait, and then removes rows far below in steps, as all at once would take a second. */
  const settle = () => {
    if (mayMove()) showAll();
    const rendered = Math.min(rowCount.value, shownLeads.value.length);
    if ((belowPx() / (scroller()?.scrollHeight ?? 1)) * rendered > 2 * ADDED_ROWS) {
      rowCount.value = rendered - ADDED_ROWS;
      requestAnimationFrame(settle);
    }
  };
  const onScroll = () => {
    settle();
    if (scroller()?.scrollTop === 0 || belowPx() > NEAR_END_PX) return;
    if (rowCount.value < shownLeads.value.length) rowCount.value += ADDED_ROWS;
    else if (mayLoadMore()) addRows();
  };
  useSignalEffect(() => {
    if (arrivedCount.value > 0 && !isPaused.value) untracked(settle);
  });
  useSignalEffect(() => {
    // Another list begins at its top.
    if (filterText.value || filterStatus.value || day.value?.end) rowCount.value = ADDED_ROWS;
  });
  useEffect(() => {
    const showWhole = () => {
      rowCount.value = MAX_LEADS;
    };
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('beforeprint', showWhole);
    return () => {
      removeEventListener('scroll', onScroll);
      removeEventListener('beforeprint', showWhole);
    };
  }, []);
  const toTop = () => {
    showAll();
    scroller()?.scrollTo({ top: 0 });
    list.current?.querySelector('a')?.focus({ preventScroll: true });
  };
  return (
    <div class="list">
      {waitingCount.value > 0 && !day.value && (
        <button type="button" class="pill primary" onClick={toTop}>
          <span aria-hidden="true">↑ </span>
          {waitingCount} new
        </button>
      )}
      {shownLeads.value.length > 0 ? (
        <ul
          class="rows"
          aria-label="Leads, newest first"
          // Another day begins at its top.
          key={day.value?.end}
          ref={list}
          onScroll={onScroll}
        >
          {shownLeads.value.slice(0, rowCount.value).map((lead) => (
            <Row
              key={lead.automation_trigger_id}
              lead={lead}
              isOpened={lead.automation_trigger_id === openedId.value}
            />
          ))}
          {rowCount.value >= shownLeads.value.length && <ListEnd onStart={addRows} />}
        </ul>
      ) : (
        <NoMatch />
      )}
    </div>
  );
}

/** Not after a failure, which would then follow at once. With a filter, the visitor decides how far to search. */
const mayLoadMore = (): boolean => loading.peek().kind === 'idle' && !isFiltered.peek();

const olderLabel = (): string => (day.value ? 'Show earlier days' : 'Load older leads');

function ListEnd({ onStart }: { readonly onStart: () => void }): JSX.Element | null {
  if (!hasMore.value || isFiltered.value) return null;
  return (
    <li class="list-end">
      {isFull.value ? <p class="soft">{FULL_TEXT}</p> : <LoadOlder label={olderLabel()} onStart={onStart} />}
    </li>
  );
}

function NoMatch(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  if (loadedLeads.value.length === 0)
    return <div class="empty">{hasMore.value && <LoadOlder label={olderLabel()} onStart={loadMore} />}</div>;
  const clear = () => {
    clearFilter();
    // The button goes with the filter.
    document.getElementById(FILTER_ID)?.focus();
  };
  return (
    <p class="empty">
      None of the {loadedLeads.value.length.toLocaleString('en')} loaded leads matches.{' '}
      <button type="button" onClick={clear}>
        Clear the filter
      </button>
    </p>
  );
}

interface RowProps {
  readonly lead: Lead;
  readonly isOpened: boolean;
}

export const placeOf = ({ branchName, departmentName }: Lead): string =>
  [branchName, departmentName].filter((name) => name !== null).join(' · ');

/** Of thousands of rows, only those that have changed are rendered. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ lead, isOpened }: RowProps): boolean {
    return lead !== this.props.lead || isOpened !== this.props.isOpened;
  }
  override render() {
    return renderRow(this.props);
  }
}

/** A longer text is cut here, and complete in the detail. */
const MAX_TEXT_LENGTH = 200;

/** Names of custom fields that say where a lead comes from, in lower case and without separators. The first one counts. */
const SOURCES = ['source', 'leadsource', 'utmsource', 'channel', 'campaign', 'campaignname', 'utmcampaign'];

function sourceOf({ customFields }: Lead): string {
  const named = new Map(
    Object.entries(customFields).map(([name, value]) => [name.toLowerCase().replace(/[^a-z]/g, ''), value]),
  );
  const found = SOURCES.map((name) => named.get(name)).find(
    (value) => typeof value === 'string' && value !== '',
  );
  return String(found ?? '');
}

function renderRow({ lead, isOpened }: RowProps): JSX.Element {
  const { automation_trigger_id: id, fullName, status, createdAt, appointmentDateTime } = lead;
  const onClick = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    // With a modifier the browser opens a tab or a window.
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open('leads', itemOf(lead), isPhone.value ? 'push' : 'replace');
    // A click by the key Enter, or a detail that covers the list.
    if (event.detail === 0 || isPhone.value) focusDetail();
  };
  const place = placeOf(lead);
  const contact = lead.phone1 || lead.email || lead.phone2;
  const source = sourceOf(lead);
  return (
    <li class={freshIds.has(id) ? 'lead-row fresh' : 'lead-row'}>
      <a
        href={hrefOf('leads', itemOf(lead))}
        onClick={onClick}
        aria-current={isOpened ? 'true' : undefined}
        data-lead={id}
      >
        <span class="row-head">
          <bdi class="row-name">
            {fullName.trim() === '' ? 'Without a name' : fullName.slice(0, MAX_TEXT_LENGTH)}
          </bdi>
          {source !== '' && (
            <span class="row-source">
              via <bdi>{source.slice(0, MAX_TEXT_LENGTH)}</bdi>
            </span>
          )}
        </span>
        <span class="row-age">
          <Time at={createdAt} form="age" />
        </span>
        <span class="row-more">
          <Status status={status} />
          {contact && <bdi class="row-contact">{contact.slice(0, MAX_TEXT_LENGTH)}</bdi>}
          {place !== '' && <bdi>{place}</bdi>}
          {appointmentDateTime !== null && <Appointment at={Date.parse(appointmentDateTime)} />}
        </span>
      </a>
    </li>
  );
}

const Appointment = ({ at }: { readonly at: number }) => (
  <span class="row-appointment" title={`Appointment: ${formatExact(at)}`}>
    Appointment {formatShort(at)}
  </span>
);
