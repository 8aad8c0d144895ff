import { BUSY, errorWithCode, IO_ERROR, resultCode } from '../sqlite-result-code.ts';
import { StoreUnavailableError, UnusableDatabaseError } from '../store.ts';

const CANNOT_OPEN = 'the database file cannot be opened';
const UNAVAILABLE = new Map([
  [BUSY, 'another program holds the write lock of the database'],
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

/** The file cannot be read where it should be: it is damaged, or the disk is. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof UnusableDatabaseError ||
  (error instanceof StoreUnavailableError && resultCode(error.cause) === IO_ERROR);

export const lockNotGranted = (): StoreUnavailableError =>
  new StoreUnavailableError('another program holds the lock of the database', {
    cause: errorWithCode(BUSY),
  });

export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY;

/** The one place where SQLite's errors become the port's; what is not listed is a defect and stays itself. */
export function asStoreError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined)
    return isFileError(error) ? new StoreUnavailableError(CANNOT_OPEN, { cause: error }) : error;
  const unavailable = UNAVAILABLE.get(code);
  if (unavailable !== undefined) return new StoreUnavailableError(unavailable, { cause: error });
  const unusable = UNUSABLE.get(code);
  return unusable === undefined ? error : new UnusableDatabaseError(unusable, { cause: error });
}

/** The folder of the database cannot be made or entered. */
const isFileError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;
