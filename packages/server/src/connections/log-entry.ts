/** An entry of the log as people and programs read it. */
import { countText, type LogEntry, PHRASES, PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { toIso, toIsoOrNull } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import { isFailure, type LogDetails } from './log.ts';
import type { Connection, StoredLogEntry } from './store.ts';

const problemOf = (code: string | null) =>
  code !== null && code in PROBLEMS ? PROBLEMS[code as ProblemCode] : undefined;

const CUT_OFF = 'client-closed-request';

export function toLogEntry(entry: StoredLogEntry, connection: Connection, now: number): LogEntry {
  const details: LogDetails = JSON.parse(entry.details);
  const { kind, times, leads, reason, leadIds } = entry;
  const { status, code, durationMs, nextTryAt = null, fields = [] } = details;
  const isNext = nextTryAt !== null && nextTryAt > now && connection.habit.entry?.[0] === entry.firstAt;
  const next = isNext ? nextTryAt : null;
  return {
    at: toIso(entry.lastAt),
    firstAt: toIso(entry.firstAt),
    ...{ times, kind, status, code, leads, durationMs, reason },
    leadIds: [...leadIds],
    nextTryAt: toIsoOrNull(next),
    fields: [...fields],
    message: `${messageOf(entry, details)}${next === null ? '' : `, next try in ${formatDuration((next - now) / 1000)}`}`,
    fix: isFailure(entry) ? fixOf(connection, details) : null,
  };
}

function messageOf({ kind, leads, times }: StoredLogEntry, details: LogDetails): string {
  const { updated = 0, isOther, beside, change } = details;
  switch (kind) {
    case 'changed':
      return change ?? 'changed';
    case 'empty':
      return countText(times, 'poll without new leads', 'polls without new leads');
    case 'leads': {
      if (leads === 0 && updated > 0) return PHRASES.updated(updated);
      const added = leads === 0 ? 'told that there are new leads' : PHRASES.lead(leads);
      if (beside) return `${added}, sent again or moved to it`;
      if (isOther) return `${added}, asked for otherwise than usual: not counted`;
      return updated > 0 ? `${added}; ${PHRASES.updated(updated)}` : added;
    }
    default:
      return `${failureOf(details)}${times === 1 ? '' : `, ${countText(times, 'times')}`}`;
  }
}

const FAILURES: Readonly<Record<string, string>> = {
  [CUT_OFF]: 'the connection was closed before everything had arrived',
  timeout: 'no answer in time',
  unreachable: 'no connection was possible',
  'not-allowed': 'nothing was sent: the operator does not allow the host',
};

/** `401 the access token has expired`, `503` */
function failureOf({ status, code, fields = [] }: LogDetails): string {
  const title = problemOf(code)?.title;
  const what = FAILURES[code ?? ''] ?? (title && title.charAt(0).toLowerCase() + title.slice(1));
  const names = fields.length > 0 ? `: ${fields.join(', ')}` : '';
  return `${[code === CUT_OFF ? null : status, what].filter(Boolean).join(' ')}${names}`;
}

function fixOf({ kind }: Connection, { code }: LogDetails): string | null {
  if (code === CUT_OFF)
    return kind === 'send'
      ? 'Send the request again, with its whole body.'
      : 'Raise the timeout of the client, or ask for fewer leads with `limit`.';
  return problemOf(code)?.integrator ?? null;
}
