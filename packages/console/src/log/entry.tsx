import type { LeadtapError } from '@leadtap/client';
import type { Attempt } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { now } from '../clock.ts';
import { Sign } from '../diagnosis/level.tsx';
import { type FoundLeads, findLeads } from '../leads/find.ts';
import { itemOf } from '../leads/selection.ts';
import { explain } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { formatCount, nameOf, Text, visible } from '../text.tsx';
import { formatClock, formatDay, formatDuration, formatExact, Time } from '../time.tsx';
import { hasFailed, keyOf, openKeys } from './entries.ts';

interface EntryProps {
  readonly entry: Attempt;
}

export const lineIdOf = (entry: Attempt): string => `line ${keyOf(entry)}`;

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
        <Sign level={hasFailed(entry) ? 'error' : 'good'} />
        <span>{visible(entry.message)}</span>
      </button>
      {isOpen && <Details entry={entry} />}
    </li>
  );
}

/** `212 empty polls, 09:00 to 16:04` */
function emptyText({ times, firstAt, at }: Attempt): string {
  const [from, to] = [Date.parse(firstAt), Date.parse(at)];
  const [start, end] = [from, to].map((time) => formatClock(time).slice(0, 5));
  const day = formatDay(from) === formatDay(to) ? '' : `${formatDay(from)}, `;
  const isMoment = times === 1 || day + start === end;
  return `${formatCount(times, 'empty poll')}, ${isMoment ? '' : `${day}${start} to `}${end}`;
}

/** What was asked, what was answered, and what to do. */
function Details({ entry }: EntryProps): JSX.Element {
  const {
    at,
    firstAt,
    times,
    status,
    code,
    durationMs,
    heldMs,
    since,
    through,
    reason,
    fields,
    nextTryAt,
    fix,
  } = entry;
  const rows: readonly (readonly [label: string, value: ComponentChildren])[] = [
    ['What to do', fix !== null && <Text>{visible(fix)}</Text>],
    [
      'Time',
      `${times > 1 ? `${times} times, ${formatExact(Date.parse(firstAt))} to ` : ''}${formatExact(Date.parse(at))}`,
    ],
    [
      'Leads created',
      since !== null && through !== null && (
        <>
          after <code>{since}</code>, up to <code>{through}</code>
        </>
      ),
    ],
    ['Waited', heldMs !== null && `${formatDuration(heldMs)} for a lead`],
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
    [
      'Leads',
      entry.kind === 'leads' && since !== null && through !== null && (
        <LeadsOf {...{ since, through }} count={entry.leads} />
      ),
    ],
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

const MAX_LEADS = 20;

interface LeadsOfProps {
  readonly since: string;
  readonly through: string;
  readonly count: number;
}

/** Those that the token may see now. */
function LeadsOf({ since, through, count }: LeadsOfProps): JSX.Element {
  const found = useSignal<FoundLeads | LeadtapError | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    findLeads({ before: Date.parse(through) + 1, limit: MAX_LEADS }, abort.signal).then(
      (value) => {
        found.value = value;
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) found.value = toLeadtapError(thrown);
      },
    );
    return () => abort.abort();
  }, [since, through]);
  const { value } = found;
  if (!value) return <span class="after-200ms">Asking the service…</span>;
  if (!('leads' in value)) return <>{explain(value).title}.</>;
  const leads = value.leads.filter(({ createdAt }) => createdAt > since);
  const missing = count - leads.length;
  return (
    <>
      <ul>
        {leads.map((lead) => (
          <li key={lead.automation_trigger_id}>
            <a href={hrefOf('leads', itemOf(lead))}>{nameOf(lead.fullName)}</a> <Time at={lead.createdAt} />
          </li>
        ))}
      </ul>
      {leads.length === MAX_LEADS
        ? missing > 0 && `The newest ${MAX_LEADS} of ${count}.`
        : (missing > 0 || leads.length === 0) &&
          `${leads.length > 0 ? `${missing} more` : 'They'} cannot be shown: deleted, moved, or no longer visible to you.`}
    </>
  );
}
