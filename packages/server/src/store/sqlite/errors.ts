import { StoreUnavailableError, UnusableDatabaseError } from '../store.ts';

/** SQLite's primary result codes, https://www.sqlite.org/rescode.html */
const BUSY = 5;
const CANNOT_OPEN = 'the database file cannot be opened';
const UNAVAILABLE = new Map([
  [BUSY, 'another program holds the write lock of the database'],
  [6, 'the database is locked'],
  [8, 'the database file cannot be written'],
  [10, 'the database file cannot be read or written'],
  [13, 'the disk is full'],
  [14, CANNOT_OPEN],
  [15, 'too many programs use the database at once'],
]);

const UNUSABLE = new Map([
  [11, 'the database file is damaged'],
  [26, 'the file is not an SQLite database'],
]);

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

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
