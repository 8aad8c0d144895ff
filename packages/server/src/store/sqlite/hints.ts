import { dirname } from 'node:path';
import { nearestExisting } from '../../lib/nearest-existing.ts';
import { innermostCode } from '../../lib/system-error.ts';
import { UnusableDatabaseError } from '../../sql/errors.ts';
import { resultCode } from './errors.ts';

/** Codes of the operating system, and SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const PERMISSION_CODES = ['EACCES', 'EPERM', 'EROFS', '8', '14'];
const PATH_CODES = ['ENOTDIR', 'EEXIST', 'EISDIR', 'ENOENT', 'ENAMETOOLONG'];
const DISK_FULL_CODES = ['ENOSPC', 'EDQUOT', '13'];
const LOCK_CODES = ['5', '6', '15'];
const DISK_ERROR_CODE = '10';

/** What to do about an error of the database file. The setting is where its path was given: a variable or a flag. */
export function sqliteHint(error: Error, file: string, setting: string): string {
  if (error instanceof UnusableDatabaseError) return `Name another file in ${setting}, or restore a backup.`;
  const code = innermostCode(error) ?? String(resultCode(error.cause));
  const folder = nearestExisting(dirname(file)).path;
  if (PERMISSION_CODES.includes(code))
    return nearestExisting(file).path === file
      ? `Allow this user to read and write ${file} and its folder.`
      : `Allow this user to write to ${folder}.`;
  if (PATH_CODES.includes(code)) return `Correct the path in ${setting}.`;
  if (DISK_FULL_CODES.includes(code))
    return `Free some space on the disk of ${folder}, then run the same command again.`;
  if (LOCK_CODES.includes(code))
    return 'Wait until the other program has finished, or stop it, then run the same command again.';
  if (code === DISK_ERROR_CODE)
    return `Check the disk of ${folder}: its free space, and the log of the system.`;
  return `Check ${setting}, and the file that it names.`;
}
