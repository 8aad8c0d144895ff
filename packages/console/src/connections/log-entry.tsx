import type { LeadtapError } from '@leadtap/client';
import type { LogEntry } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { now } from '../clock.ts';
import { type FoundLeads, findLeads } from '../leads/find.ts';
import { itemOf } from '../leads/selection.ts';
import { hrefOf } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { formatCount, nameOf, Text, visible } from '../text.tsx';
import { formatClock, formatDay, formatExact, Time } from '../time.tsx';
import { SendAgain } from './buttons.tsx';
import { Sign } from './level.tsx';
import { findConnection } from './list.ts';
import { hasFailed, keyOf, openKeys } from './log-entries.ts';
import { openedLog } from './opened-log.ts';

interface EntryProps {
  readonly entry: LogEntry;
}

export const lineIdOf = (entry: LogEntry): string => `line ${keyOf(entry)}`;

/** One line, which unfolds. */
export function Entry({ entry }: EntryProps): JSX.Element {
  const key = keyOf(entry);
  if (entry.kind === 'empty') return <li class="log-empty">{emptyText(entry)}</li>;
  const isOpen = openKeys.value.has(key);
  const toggle = () => {
    const keys = new Set(openKeys.peek());
    if (!keys.delete(key)) keys.add(key);
    openKeys.value = keys;
  };
  return (
    <li>
      <button type="button" id={lineIdOf(entry)} class="log-line" aria-expanded={isOpen} onClick={toggle}>
        <time dateTime={entry.at}>{formatClock(Date.parse(entry.at))}</time>
        {entry.kind === 'changed' ? (
          <span class="sign" />
        ) : (
          <Sign level={hasFailed(entry) ? 'error' : 'good'} />
        )}
        <span>{visible(entry.message)}</span>
      </button>
      {isOpen && <Details entry={entry} />}
    </li>
  );
}

/** `212 empty polls, 09:00 to 16:04` */
function emptyText({ times, firstAt, at }: LogEntry): string {
  const [from, to] = [Date.parse(firstAt), Date.parse(at)];
  const [start, end] = [from, to].map((time) => formatClock(time).slice(0, 5));
  const day = formatDay(from) === formatDay(to) ? '' : `${formatDay(from)}, `;
  const isMoment = times === 1 || day + start === end;
  return `${formatCount(times, 'empty poll')}, ${isMoment ? '' : `${day}${start} to `}${end}`;
}

/** What was asked, what was answered, and what to do. */
function Details({ entry }: EntryProps): JSX.Element {
  const { at, firstAt, times, status, code, durationMs, reason, fields, nextTryAt, fix, leadIds } = entry;
  const rows: readonly (readonly [label: string, value: ComponentChildren])[] = [
    ['What to do', fix !== null && <Text>{visible(fix)}</Text>],
    [
      'Time',
      `${times > 1 ? `${times} times, ${formatExact(Date.parse(firstAt))} to ` : ''}${formatExact(Date.parse(at))}`,
    ],
    [
      'Answer',
      (status !== null || code !== null) && (
        <>
          {status} {code !== null && <code>{code}</code>}
          {durationMs !== null && ` in ${durationMs} ms`}
        </>
      ),
    ],
    ['It said', reason !== null && <q>{visible(reason)}</q>],
    ['Fields', fields.length > 0 && visible(fields.join(', '))],
    ['Next try', nextTryAt !== null && Date.parse(nextTryAt) > now.peek() && <Time at={nextTryAt} />],
    ['Leads', entry.leads > 0 && <LeadsOf entry={entry} />],
    ['', leadIds.length > 0 && <SendAgain connection={findConnection(openedLog.value)} leadIds={leadIds} />],
  ];
  return (
    <dl>
      {rows.map(
        ([label, value]) =>
          value && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Of the leads of an entry, more are shown by their ids. */
const MAX_NAMED = 20;

/** Those that the token may see now. Most were created just before they were sent: one request has their names. */
function LeadsOf({ entry: { at, leads, leadIds } }: EntryProps): JSX.Element {
  const found = useSignal<FoundLeads | LeadtapError | undefined>(undefined);
  useEffect(() => {
    if (leadIds.length === 0) return;
    const abort = new AbortController();
    const limit = Math.min(100, MAX_NAMED + leadIds.length);
    findLeads({ before: Date.parse(at) + 1, limit }, abort.signal).then(
      (value) => {
        found.value = value;
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) found.value = toLeadtapError(thrown);
      },
    );
    return () => abort.abort();
  }, [at]);
  if (leadIds.length > 0 && !found.value) return <span class="after-200ms">Asking the service…</span>;
  const known = found.value && 'leads' in found.value ? found.value.leads : [];
  const missing = leads - leadIds.length;
  return (
    <>
      <ul>
        {leadIds.map((id) => {
          const lead = known.find((one) => one.id === id);
          return (
            <li key={id}>
              <a href={hrefOf('leads', lead ? itemOf(lead) : id)}>
                {lead ? nameOf(lead.fullName) : <code>{visible(id)}</code>}
              </a>{' '}
              {lead && visible(lead.phone1 ?? lead.email ?? '')}
            </li>
          );
        })}
      </ul>
      {missing > 0 &&
        `${leadIds.length > 0 ? `${missing} more` : 'They'} cannot be shown: deleted, moved, or no longer visible to you.`}
    </>
  );
}
