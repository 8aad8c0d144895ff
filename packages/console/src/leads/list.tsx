import type { Lead } from '@leadtap/client';
import { untracked, useSignalEffect } from '@preact/signals';
import { Component, type JSX, type TargetedMouseEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { arrivedCount, freshIds, leads, MAX_LEADS } from '../feed.ts';
import { hrefOf, isPhone, open } from '../router.ts';
import { Address, nameOf, visible } from '../text.tsx';
import { formatExact, formatShort, Time } from '../time.tsx';
import { focusDetail } from './detail.tsx';
import { day, filterText, hasMore, isFull, loading, loadMore, showAll, view } from './history.ts';
import { FULL_TEXT, LoadOlder } from './loading.tsx';
import { isPaused } from './pause.ts';
import { abovePx, addBlock, BLOCK_ROWS, focusWanted, followScroll, rendered, resetRows } from './rows.ts';
import {
  chosenStart,
  clearFilter,
  FILTER_ID,
  filterStatus,
  itemOf,
  openedId,
  shownLeads,
} from './selection.ts';
import { Status } from './status.tsx';

/** The leads, newest first. While it is scrolled or paused, new leads wait above it. */
export function LeadList(): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  // One column: the page scrolls, not the list.
  const scroller = () => (isPhone.value ? document.documentElement : list.current);
  const mayMove = (): boolean => !isPaused.value && !view.peek() && (scroller()?.scrollTop ?? 0) < 8;
  const addRows = () => {
    addBlock();
    loadMore();
  };
  const onScroll = () => {
    if (mayMove()) showAll();
    const box = isPhone.value ? undefined : list.current?.getBoundingClientRect();
    const rows = list.current?.querySelectorAll('.lead-row');
    const [first, last] = [rows?.[0], rows?.[rows.length - 1]];
    if (!first || !last) return;
    const [visibleTop, heightPx] = [box?.top ?? 0, box?.height ?? innerHeight];
    const { top } = first.getBoundingClientRect();
    const isAtEnd = followScroll({
      topPx: top - visibleTop,
      bottomPx: last.getBoundingClientRect().bottom - visibleTop,
      heightPx,
      firstBlockPx: (rows?.[BLOCK_ROWS]?.getBoundingClientRect().top ?? top) - top,
    });
    if (isAtEnd && scroller()?.scrollTop !== 0 && mayLoadMore()) addRows();
  };
  useSignalEffect(() => {
    if (arrivedCount.value > 0 && !isPaused.value && untracked(mayMove)) untracked(showAll);
  });
  useSignalEffect(() => {
    filterText.value;
    filterStatus.value;
    chosenStart.value;
    resetRows();
    list.current?.scrollTo({ top: 0 });
  });
  useEffect(() => {
    const showWhole = () => {
      rendered.value = { first: 0, end: MAX_LEADS };
    };
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('beforeprint', showWhole);
    addEventListener('afterprint', onScroll);
    return () => {
      removeEventListener('scroll', onScroll);
      removeEventListener('beforeprint', showWhole);
      removeEventListener('afterprint', onScroll);
    };
  }, []);
  useLayoutEffect(focusWanted);
  return (
    <div class="list">
      {shownLeads.value.length > 0 ? (
        <ul
          class="rows"
          aria-label="Leads, newest first"
          // Another day begins at its top.
          key={day.value?.end}
          ref={list}
          onScroll={onScroll}
        >
          {rendered.value.first > 0 && <li aria-hidden="true" style={{ height: `${abovePx()}px` }} />}
          {shownLeads.value.slice(rendered.value.first, rendered.value.end).map((lead) => (
            <Row
              key={lead.automation_trigger_id}
              lead={lead}
              isOpened={lead.automation_trigger_id === openedId.value}
            />
          ))}
          {rendered.value.end >= shownLeads.value.length && hasMore.value && <ListEnd onStart={addRows} />}
        </ul>
      ) : (
        <NoMatch />
      )}
    </div>
  );
}

/** Not after a failure, which would then follow at once. Of a search or a status, the visitor decides how far back it goes. */
const mayLoadMore = (): boolean =>
  loading.peek().kind === 'idle' && filterText.peek() === '' && filterStatus.peek() === '';

/** The way to older leads. That of a search is above the list. */
function Older({ onStart }: { readonly onStart: () => void }): JSX.Element | null {
  if (!hasMore.value || filterText.value.trim() !== '') return null;
  if (isFull.value) return <p class="soft">{FULL_TEXT}</p>;
  return <LoadOlder label={day.value ? 'Show earlier days' : 'Load older leads'} onStart={onStart} />;
}

const ListEnd = ({ onStart }: { readonly onStart: () => void }): JSX.Element => (
  <li class="list-end">
    <Older onStart={onStart} />
  </li>
);

function NoMatch(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  const clear = () => {
    clearFilter();
    // The button goes with the filter.
    document.getElementById(FILTER_ID)?.focus();
  };
  const isFiltered = filterText.value !== '' || filterStatus.value !== '';
  return (
    <div class="empty">
      {isFiltered && loading.value.kind === 'idle' && (
        <p>
          No lead matches.{' '}
          <button type="button" onClick={clear}>
            Clear the filter
          </button>
        </p>
      )}
      <Older onStart={loadMore} />
    </div>
  );
}

interface RowProps {
  readonly lead: Lead;
  readonly isOpened?: boolean;
}

const placeOf = ({ branchName, departmentName }: Lead): string =>
  [branchName, departmentName].filter((name) => name !== null).join(' · ');

/** Of thousands of rows, only those that have changed are rendered. */
export class Row extends Component<RowProps> {
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
    open('leads', itemOf(lead));
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
          <bdi class="row-name">{nameOf(fullName).slice(0, MAX_TEXT_LENGTH)}</bdi>
          {source !== '' && (
            <span class="row-source">
              via <bdi>{visible(source).slice(0, MAX_TEXT_LENGTH)}</bdi>
            </span>
          )}
        </span>
        <span class="row-age">
          <Time at={createdAt} form="age" />
        </span>
        <span class="row-more">
          <Status status={status} />
          {contact && (
            <span class="row-contact">
              <Address>{contact.slice(0, MAX_TEXT_LENGTH)}</Address>
            </span>
          )}
          {place !== '' && <bdi>{visible(place)}</bdi>}
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
