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
  return {
    ...{ ...connection, ...succeeded },
    lastAt: laterOf(connection.lastAt, lastAt),
    lastLeadAt: added > 0 ? laterOf(connection.lastLeadAt, lastAt) : connection.lastLeadAt,
    workedAt: connection.workedAt ?? (added > 0 ? lastAt : null),
    ...{ endedAt: null, endedBy: null },
  };
}

/** A refused request whose body is not held. */
export const lostOf = ({ status, code, isHeld, times, firstAt, lastAt }: SendRun): LostCount[] =>
  status < 400 || code === null || isHeld ? [] : [{ why: code, requests: times, firstAt, lastAt }];

/** The position of a webhook moves with what is stored of it, together with its deliveries. */
export function notePush(connection: Connection, run: PushRun, lastStamp: number): Connection {
  const { failure, isEvent, createdAt, lastAt, firstAt } = run;
  if (failure === null) {
    const event = isEvent
      ? { eventAt: lastAt, eventOpenSince: connection.eventOpenSince ?? firstAt }
      : { position: laterOf(connection.position, createdAt.length > 0 ? Math.max(...createdAt) : null) };
    const isWork = connection.kind === 'webhook' && createdAt.length > 0;
    return {
      ...{ ...connection, ...event, ...(!isEvent && succeeded) },
      lastAt: connection.kind === 'webhook' ? laterOf(connection.lastAt, lastAt) : connection.lastAt,
      workedAt: connection.workedAt ?? (isWork ? lastAt : null),
    };
  }
  // Events belong to the connection that polls: its own requests say whether it fails.
  if (connection.kind !== 'webhook' || failure === 'not-allowed') return connection;
  const failed = noteError(connection, run, failure);
  return failure === 'gone' ? { ...failed, endedAt: lastAt, endedBy: '410', endStamp: lastStamp } : failed;
}
