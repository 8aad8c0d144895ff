/** The sentences of a log. */
import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { type Attempt, CLIENT_CLOSED_REQUEST_CODE } from '../attempts/store.ts';
import { formatDuration } from '../lib/formats.ts';
import { hookFix } from './consumer-problems.ts';
import type { SenderStatus } from './report.ts';
import { listFields, userHintOf } from './sender-problems.ts';
import { countOf } from './sentences.ts';

const problemOf = (code: string | null) =>
  code !== null && code in PROBLEMS ? PROBLEMS[code as ProblemCode] : undefined;

export function attemptMessage(attempt: Attempt, now: number): string {
  switch (attempt.kind) {
    case 'leads':
      return leadsOf(attempt);
    case 'empty':
      return countOf(attempt.times, 'poll without new leads', 'polls without new leads');
    case 'recovered':
      return 'works again';
    default:
      return `${failureOf(attempt)}${repetition(attempt)}${nextTry(attempt, now)}`;
  }
}

function leadsOf({ leads, updated, host }: Attempt): string {
  if (leads === 0 && host !== null) return `${host} was told that there are new leads`;
  const added = countOf(leads, 'lead', 'leads');
  if (updated === 0) return added;
  const known = countOf(updated, 'lead sent before was updated', 'leads sent before were updated');
  return leads === 0 ? known : `${added}; ${known}`;
}

/** `401 the access token has expired`, `503 from hooks.zapier.com` */
function failureOf({ status, code, host, fields }: Attempt): string {
  if (code === CLIENT_CLOSED_REQUEST_CODE) return 'the connection was closed before everything had arrived';
  const title = problemOf(code)?.title;
  const what = title && title.charAt(0).toLowerCase() + title.slice(1);
  if (host !== null) {
    if (what) return `nothing was sent to ${host}: ${what}`;
    return status === null ? `no answer from ${host}` : `${status} from ${host}`;
  }
  const names = fields.length > 0 ? `: ${listFields(fields)}` : '';
  return [status, what].filter(Boolean).join(' ') + names;
}

const repetition = ({ times }: Attempt): string =>
  times === 1 ? '' : `, ${countOf(times, 'time', 'times')}`;

const nextTry = ({ nextTryAt }: Attempt, now: number): string =>
  nextTryAt === null ? '' : `, next try in ${formatDuration((nextTryAt - now) / 1000)}`;

/** What to do about a refusal or a failure. */
export function attemptFix(attempt: Attempt, sender: SenderStatus | undefined): string | null {
  const { code, fields, host, since, status } = attempt;
  if (code === CLIENT_CLOSED_REQUEST_CODE)
    return sender
      ? 'The sender must send the request again, with its whole body.'
      : 'Raise the timeout of the client, or ask for fewer leads with `limit`.';
  if (sender && problemOf(code)) return userHintOf(sender, code as ProblemCode, fields);
  const problem = problemOf(code);
  if (problem) return problem.integrator;
  if (host === null) return null;
  return hookFix(since === null ? 'leads' : 'events', status === 410 ? 'disabled' : 'failing', status);
}
