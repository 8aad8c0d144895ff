/** Maps the errors of SQLite and of the file system to the errors of the port. */

import { systemCode } from '../../lib/system-error.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../../sql/errors.ts';

/** SQLite's primary result codes, https://www.sqlite.org/rescode.html */
const BUSY = 5;
const IO_ERROR = 10;

const CANNOT_OPEN = 'the database file cannot be opened';

interface ResultCode {
  readonly code: number;
  /** SQLite's own message: the driver for Node before 22.13 sets no code on an error of `all`. */
  readonly text: string;
  readonly message: string;
  /** The file must be replaced. Other errors may pass. */
  readonly isUnusable?: boolean;
}

const RESULT_CODES: readonly ResultCode[] = [
  { code: BUSY, text: 'database is locked', message: 'another program holds the lock of the database' },
  { code: 6, text: 'database table is locked', message: 'the database is locked' },
  { code: 8, text: 'attempt to write a readonly database', message: 'the database file cannot be written' },
  { code: IO_ERROR, text: 'disk I/O error', message: 'the database file cannot be read or written' },
  {
    code: 11,
    text: 'database disk image is malformed',
    message: 'the database file is damaged',
    isUnusable: true,
  },
  { code: 13, text: 'database or disk is full', message: 'the disk is full' },
  { code: 14, text: 'unable to open database file', message: CANNOT_OPEN },
  { code: 15, text: 'locking protocol', message: 'too many programs use the database at once' },
  {
    code: 26,
    text: 'file is not a database',
    message: 'the file is not an SQLite database',
    isUnusable: true,
  },
];

/** The primary result code of an error of SQLite; undefined for every other error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  if (systemCode(error) !== 'ERR_SQLITE_ERROR') return undefined;
  return RESULT_CODES.find(({ text }) => text === error.message)?.code;
}

/** The name of a constraint that the operator has added. After such an error, the transaction can continue. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return /^(?:CHECK|NOT NULL|UNIQUE) constraint failed: (.+)$/s.exec(error.message)?.[1];
}

export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY;

/** The file or the disk is damaged. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof UnusableDatabaseError ||
  (error instanceof StoreUnavailableError && resultCode(error.cause) === IO_ERROR);

/** The lock was not free within the time limit. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && isBusy(error.cause);

/** Of `json` on a text that is not JSON. Only JSON is ever written, so it is damage that SQLite does not detect. */
const isMalformedJson = (error: unknown): boolean =>
  error instanceof Error && error.message === 'malformed JSON';

/** An error that is not listed is a defect and is returned unchanged. */
export function asStoreError(error: unknown): unknown {
  if (isMalformedJson(error))
    return new UnusableDatabaseError('the database file is damaged', { cause: error });
  const code = resultCode(error);
  // The folder of the database cannot be created or entered.
  if (code === undefined && error instanceof Error && 'syscall' in error)
    return new StoreUnavailableError(CANNOT_OPEN, { cause: error });
  const found = RESULT_CODES.find((known) => known.code === code);
  if (!found) return error;
  const StoreError = found.isUnusable ? UnusableDatabaseError : StoreUnavailableError;
  return new StoreError(found.message, { cause: error });
}
