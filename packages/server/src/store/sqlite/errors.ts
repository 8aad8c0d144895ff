/** Maps the errors of SQLite and of the file system to the errors of the port. */
import { systemCode } from '../../system-error.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../store.ts';

/** SQLite's primary result codes, https://www.sqlite.org/rescode.html */
const BUSY = 5;
const IO_ERROR = 10;

const CANNOT_OPEN = 'the database file cannot be opened';

const UNAVAILABLE = new Map([
  [BUSY, 'another program holds the lock of the database'],
  [6, 'the database is locked'],
  [8, 'the database file cannot be written'],
  [IO_ERROR, 'the database file cannot be read or written'],
  [13, 'the disk is full'],
  [14, CANNOT_OPEN],
  [15, 'too many programs use the database at once'],
]);

const UNUSABLE = new Map([
  [11, 'the database file is damaged'],
  [26, 'the file is not an SQLite database'],
]);

/** SQLite's messages for these codes: the driver for Node before 22.13 sets no code on an error of `all`. */
const CODES_BY_MESSAGE = new Map([
  ['database is locked', BUSY],
  ['database table is locked', 6],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', IO_ERROR],
  ['database disk image is malformed', 11],
  ['database or disk is full', 13],
  ['unable to open database file', 14],
  ['locking protocol', 15],
  ['file is not a database', 26],
]);

/** The primary result code of an error of SQLite; undefined for every other error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  return systemCode(error) === 'ERR_SQLITE_ERROR' ? CODES_BY_MESSAGE.get(error.message) : undefined;
}

export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY;

/** The file or the disk is damaged. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof UnusableDatabaseError ||
  (error instanceof StoreUnavailableError && resultCode(error.cause) === IO_ERROR);

/** The lock was not free within the time limit. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && isBusy(error.cause);

/** An error that is not listed is a defect and is returned unchanged. */
export function asStoreError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined)
    return isFileError(error) ? new StoreUnavailableError(CANNOT_OPEN, { cause: error }) : error;
  const unavailable = UNAVAILABLE.get(code);
  if (unavailable !== undefined) return new StoreUnavailableError(unavailable, { cause: error });
  const unusable = UNUSABLE.get(code);
  return unusable === undefined ? error : new UnusableDatabaseError(unusable, { cause: error });
}

/** The folder of the database cannot be created or entered. */
const isFileError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;
