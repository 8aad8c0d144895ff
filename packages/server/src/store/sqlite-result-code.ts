import { systemCode } from '../system-error.ts';

/** SQLite's primary result codes, https://www.sqlite.org/rescode.html */
export const BUSY = 5;
export const IO_ERROR = 10;

/** SQLite's own words for the codes: the driver for Node before 22.13 gives no code with an error of `all`. */
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

/** For the cause of an error of the store where the one of the driver is not at hand: in another thread, or after waiting. */
export const errorWithCode = (errcode: number): Error =>
  Object.assign(new Error(`SQLite result code ${errcode}`), { errcode });
