import type { Lead } from '@leadtap/client';
import { useSignalEffect } from '@preact/signals';
import { Component, type JSX, type TargetedMouseEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { arrivedCount, freshIds, hasOlder, leads } from '../feed.ts';
import { hrefOf, isPhone, open, place } from '../router.ts';
import { formatExact, formatShort, Time } from '../time.tsx';
import { focusDetail } from './detail.tsx';
import { clearFilter, FILTER_ID, showAll, shownLeads, waitingCount } from './selection.ts';
import { Status } from './status.tsx';

/** The leads, newest first. While it is scrolled, new leads wait above it. */
export function LeadList(): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const isAtTop = (): boolean => {
    // One column: the page scrolls, not the list.
    if (isPhone.value) return scrollY < 8;
    return (list.current?.scrollTop ?? 0) < 8;
  };
  const onScroll = () => {
    if (isAtTop()) showAll();
  };
  useSignalEffect(() => {
    if (arrivedCount.value > 0 && isAtTop()) showAll();
  });
  useEffect(() => {
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  const toTop = () => {
    showAll();
    list.current?.scrollTo({ top: 0 });
    if (isPhone.value) scrollTo({ top: 0 });
    list.current?.querySelector('a')?.focus({ preventScroll: true });
  };
  return (
    <div class="list">
      {waitingCount.value > 0 && (
        <button type="button" class="pill primary" onClick={toTop}>
          <span aria-hidden="true">↑ </span>
          {waitingCount} new
        </button>
      )}
      {shownLeads.value.length > 0 ? (
        <ul class="rows" aria-label="Leads, newest first" ref={list} onScroll={onScroll}>
          {shownLeads.value.map((lead) => (
            <Row
              key={lead.automation_trigger_id}
              lead={lead}
              isOpened={lead.automation_trigger_id === place.value.item}
            />
          ))}
          {hasOlder.value && (
            <li class="empty soft">Older leads are not loaded. Explore shows them, from any time on.</li>
          )}
        </ul>
      ) : (
        <NoMatch />
      )}
    </div>
  );
}

function NoMatch(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  const clear = () => {
    clearFilter();
    // The button goes with the filter.
    document.getElementById(FILTER_ID)?.focus();
  };
  return (
    <p class="empty">
      None of the {leads.value.length} loaded leads matches.{' '}
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

/** With 1,000 rows, only those that have changed are rendered. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ lead, isOpened }: RowProps): boolean {
    return lead !== this.props.lead || isOpened !== this.props.isOpened;
  }
  override render() {
    return renderRow(this.props);
  }
}

/** A longer one is cut here, and complete in the detail. */
const MAX_NAME_LENGTH = 200;

function renderRow({ lead, isOpened }: RowProps): JSX.Element {
  const { automation_trigger_id: id, fullName, status, createdAt, appointmentDateTime } = lead;
  const onClick = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    // With a modifier the browser opens a tab or a window.
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open('leads', id, isPhone.value ? 'push' : 'replace');
    // A click by the key Enter, or a detail that covers the list.
    if (event.detail === 0 || isPhone.value) focusDetail();
  };
  const place = placeOf(lead);
  return (
    <li class={freshIds.has(id) ? 'lead-row fresh' : 'lead-row'}>
      <a
        href={hrefOf('leads', id)}
        onClick={onClick}
        aria-current={isOpened ? 'true' : undefined}
        data-lead={id}
      >
        <bdi class="row-name">{fullName === '' ? 'Without a name' : fullName.slice(0, MAX_NAME_LENGTH)}</bdi>
        <span class="row-age">
          <Time at={createdAt} form="age" />
        </span>
        <span class="row-more">
          <Status status={status} />
          {place !== '' && <bdi class="row-place">{place}</bdi>}
          {appointmentDateTime !== null && <Appointment at={Date.parse(appointmentDateTime)} />}
        </span>
      </a>
    </li>
  );
}

const Appointment = ({ at }: { readonly at: number }) => (
  <span class="row-appointment" title={`Appointment: ${formatExact(at)}`}>
    appointment {formatShort(at)}
  </span>
);
