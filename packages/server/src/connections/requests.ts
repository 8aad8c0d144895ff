/** What follows from a request that sends leads, and from one to a webhook. Pure. */
import { laterOf } from '../lib/clock.ts';
import type { Connection, LostCount, PushRun, SendRun } from './store.ts';

const noteError = (
  connection: Connection,
  run: Pick<SendRun, 'firstAt' | 'lastAt' | 'times'>,
  code: string | null,
): Connection => ({
  ...connection,
  lastAt: laterOf(connection.lastAt, run.lastAt),
  errors: connection.errors + run.times,
  failingSince: connection.failingSince ?? run.firstAt,
  lastErrorAt: laterOf(connection.lastErrorAt, run.lastAt),
  lastErrorCode: code,
});

const succeeded = { errors: 0, failingSince: null };

export function noteSend(connection: Connection, run: SendRun): Connection {
  const { status, code, added, lastAt } = run;
  if (code !== null || status >= 400) return noteError(connection, run, code);
  const worked = {
    ...connection,
    lastLeadAt: added > 0 ? laterOf(connection.lastLeadAt, lastAt) : connection.lastLeadAt,
    workedAt: connection.workedAt ?? (added > 0 ? lastAt : null),
  };
  if (run.isAccepted) return worked;
  return {
    ...{ ...worked, ...succeeded },
    lastAt: laterOf(connection.lastAt, lastAt),
    ...{ endedAt: null, endedBy: null },
  };
}

/** A refused request whose body is not held. */
export const lostOf = ({ status, code, isHeld, times, firstAt, lastAt }: SendRun): LostCount[] =>
  status < 400 || code === null || isHeld ? [] : [{ why: code, requests: times, firstAt, lastAt }];

/** What was sent, the position and the end of a webhook are stored with its subscription. */
export function notePush(connection: Connection, run: PushRun): Connection {
  const { failure, isEvent, lastAt, firstAt } = run;
  if (isEvent) {
    // Events belong to the connection that polls: its own requests say whether it fails.
    if (failure !== null) return connection;
    return { ...connection, eventAt: lastAt, eventOpenSince: connection.eventOpenSince ?? firstAt };
  }
  if (failure === 'not-allowed') return connection;
  if (failure !== null) return noteError(connection, run, failure);
  return { ...connection, ...succeeded, lastAt: laterOf(connection.lastAt, lastAt) };
}
