import pg from 'pg';
import { systemCode } from '../../system-error.ts';
import { ClientDisconnectedError, StoreUnavailableError, UnusableDatabaseError } from '../store.ts';

/** The database said nothing for so long that the query was given up. */
export class NoAnswerError extends StoreUnavailableError {}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; the first two characters are a class. */
const UNAVAILABLE = new Map([
  ['08', 'the connection to the database is broken'],
  ['25000', 'polls need the isolation level READ COMMITTED'],
  ['25006', 'the database is a standby or read-only'],
  ['25P03', 'the database ended a transaction that took too long'],
  ['25P04', 'the database ended a transaction that took too long'],
  ['28', 'the database refuses this user'],
  ['3D000', 'there is no such database'],
  ['40001', 'other transactions are in the way'],
  ['40P01', 'other transactions are in the way'],
  ['42501', 'this user lacks a right in the database'],
  ['42P01', 'a table of the database is missing; it may be being restored'],
  ['53300', 'the database has no connection left'],
  ['53', 'the database is out of disk, memory or connections'],
  ['54', 'an answer of the database is too large'],
  ['55P03', 'another program holds a lock of the database'],
  ['57014', 'the database ended a statement that took too long'],
  ['57', 'the database is stopping or starting'],
  ['58', 'the database cannot read or write its files'],
]);

const UNUSABLE = new Map([
  ['0A', 'the database server is too old; Leadtap needs PostgreSQL 14 or later'],
  // From leadtap.refuse_later_triggers.
  ['LT001', 'the database refuses to write leads'],
  ['XX', 'the database is damaged, or its server has a defect'],
]);

const stateOf = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : undefined;

const meaning = (meanings: ReadonlyMap<string, string>, state: string): string | undefined =>
  meanings.get(state) ?? meanings.get(state.slice(0, 2));

const isUnavailableWith = (error: unknown, ...states: readonly string[]): boolean =>
  error instanceof StoreUnavailableError && states.includes(stateOf(error.cause) ?? '');

/**
 * The lock could not be taken: not in time, or PostgreSQL ended this wait to resolve a deadlock. A poll that waits behind two
 * writers in a deadlock is part of the cycle, and may be the one that is ended.
 */
export const isLockBusy = (error: unknown): boolean => isUnavailableWith(error, '55P03', '40P01');

/** A deadlock, or a serialization failure: the transaction may simply be retried. */
export const isWorthAnotherTry = (error: unknown): boolean => isUnavailableWith(error, '40001', '40P01');

/** What PostgreSQL reports when a cached plan no longer fits its tables, after a column was dropped for one. */
const STALE_PLAN =
  /^(42703 attribute \d+ of type .+ has been dropped|42804 attribute \d+ of type .+ has wrong type|0A000 cached plan|XX000)/;

/** It does so again and again on that connection, until the plans are discarded. */
export function isStalePlan(error: unknown): boolean {
  const cause = error instanceof UnusableDatabaseError ? error.cause : error;
  return cause instanceof pg.DatabaseError && STALE_PLAN.test(`${cause.code} ${cause.message}`);
}

/** Nobody waits for the query any more, but the database knows nothing of that. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof ClientDisconnectedError || error instanceof NoAnswerError;

/**
 * Whether a connection is of no more use after this. An error that the server reports leaves it as it was, save where
 * the server itself is going away, or is not the one to talk to any more, or has given the connection settings that
 * only a new one gets rid of.
 */
export function isBrokenConnection(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return /^(08|25000|25006|25P0[34]|57P)/.test(state);
  return (
    error instanceof ClientDisconnectedError || error instanceof StoreUnavailableError || isDriverError(error)
  );
}

/** The one place where PostgreSQL's errors become the port's; what is not listed is a defect and stays itself. */
export function asStoreError(error: unknown): unknown {
  const state = stateOf(error);
  if (state === undefined)
    return isDriverError(error)
      ? new StoreUnavailableError('the database cannot be reached', { cause: error })
      : error;
  const unavailable = meaning(UNAVAILABLE, state);
  if (unavailable !== undefined) return new StoreUnavailableError(unavailable, { cause: error });
  const unusable = meaning(UNUSABLE, state);
  return unusable === undefined ? error : new UnusableDatabaseError(unusable, { cause: error });
}

/** The driver has no class for them: the connection ended, or was never made. */
function isDriverError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDriverError);
  return SYSTEM_CODE.test(systemCode(error) ?? '') || DRIVER_SAYS.test(error.message);
}

/** Of the system, and of Node's sockets. */
const SYSTEM_CODE = /^(E[A-Z]+|EAI_[A-Z]+|ERR_(STREAM|SOCKET|SSL|TLS)_\w+)$/;
const DRIVER_SAYS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered a connection error|was closed)|Cannot use a pool after|The server does not support SSL|SASL: |There was an error establishing an SSL connection|.*certificate)/i;
