import pg from 'pg';
import { systemCode } from '../../lib/system-error.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../../sql/errors.ts';

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
  // From leadtap.leads_before_insert. `writeLeads` rejects erased leads itself, unless a trigger of the operator's changes ids.
  ['LT002', 'the database refuses a lead that was erased'],
  ['XX', 'the database is damaged, or its server has a defect'],
]);

const sqlState = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : undefined;

/** The name of a constraint that the operator has added to the table of leads, or the column that must not be null. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError) || error.schema !== 'leadtap' || error.table !== 'leads')
    return undefined;
  // FOREIGN KEY, UNIQUE, CHECK, EXCLUDE; NOT NULL.
  if (/^23(503|505|514|P01)$/.test(error.code ?? '')) return error.constraint;
  return error.code === '23502' ? error.column : undefined;
}

const findMeaning = (meanings: ReadonlyMap<string, string>, state: string): string | undefined =>
  meanings.get(state) ?? meanings.get(state.slice(0, 2));

const isUnavailableWith = (error: unknown, ...states: readonly string[]): boolean =>
  error instanceof StoreUnavailableError && states.includes(sqlState(error.cause) ?? '');

/**
 * The lock could not be taken: not in time, or PostgreSQL ended this wait to resolve a deadlock. A poll that waits behind two
 * writers in a deadlock is part of the cycle, and may be the one that is ended.
 */
export const isLockBusy = (error: unknown): boolean => isUnavailableWith(error, '55P03', '40P01');

/** A deadlock, or a serialization failure. */
export const isRetryable = (error: unknown): boolean => isUnavailableWith(error, '40001', '40P01');

/** What a trigger of the operator's can cause, or another transaction. */
const UNAVAILABLE_FOR_SOME = /^(40001|40P01|42501|42P01|54...|55P03|57014)$/;

/** Whether the database has rolled back for a reason that another write need not have. */
export const isUnavailableForSome = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && UNAVAILABLE_FOR_SOME.test(sqlState(error.cause) ?? '');

/** What PostgreSQL reports when a cached plan no longer fits its tables, after a column was dropped for one. */
const STALE_PLAN =
  /^(42703 attribute \d+ of type .+ has been dropped|42804 attribute \d+ of type .+ has wrong type|0A000 cached plan|XX000)/;

/** Every query of that connection fails in this way until its plans are discarded. */
export function isStalePlan(error: unknown): boolean {
  const cause = error instanceof UnusableDatabaseError ? error.cause : error;
  return cause instanceof pg.DatabaseError && STALE_PLAN.test(`${cause.code} ${cause.message}`);
}

/**
 * Whether the connection must be closed. After an error that the server reports it stays usable, except when the server
 * stops, is a standby now, or has given the session settings that only a new connection gets rid of.
 */
export function isBrokenConnection(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isDriverError(error) : /^(08|25000|25006|25P0[34]|57P)/.test(state);
}

/** The one place where PostgreSQL's errors become the port's. An error that is not listed is a defect and stays as it is. */
export function toStoreError(error: unknown): unknown {
  const state = sqlState(error);
  if (state === undefined) {
    if (!isDriverError(error)) return error;
    const reason = isQueryTimeout(error) ? 'does not answer in time' : 'cannot be reached';
    return new StoreUnavailableError(`the database ${reason}`, { cause: error });
  }
  const unavailable = findMeaning(UNAVAILABLE, state);
  if (unavailable !== undefined) return new StoreUnavailableError(unavailable, { cause: error });
  const unusable = findMeaning(UNUSABLE, state);
  return unusable === undefined ? error : new UnusableDatabaseError(unusable, { cause: error });
}

/** The driver has no error classes for a connection that ended or was never made, only messages. */
function isDriverError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDriverError);
  return (
    isQueryTimeout(error) || SYSTEM_CODE.test(systemCode(error) ?? '') || DRIVER_MESSAGE.test(error.message)
  );
}

/** Of the driver's option `connectionTimeoutMillis`. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error && CONNECT_TIMEOUT.test(error.message);

const CONNECT_TIMEOUT =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Of the driver's option `query_timeout`. */
const isQueryTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout';

/** Of the operating system, and of Node's sockets. */
const SYSTEM_CODE = /^(E[A-Z]+|EAI_[A-Z]+|ERR_(STREAM|SOCKET|SSL|TLS)_\w+)$/;
const DRIVER_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered a connection error|was closed)|Cannot use a pool after|The server does not support SSL|SASL: |There was an error establishing an SSL connection|.*certificate)/i;
