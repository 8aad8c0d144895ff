import { dirname } from 'node:path';
import type { SqliteDatabase } from '../config.ts';
import { engineOf } from '../open-store.ts';
import { nearestExisting } from './existing-path.ts';

type Hint = (file: string, setting: string) => string;

const RIGHTS: Hint = (file) => {
  const { path } = nearestExisting(file);
  return path === file
    ? `Give this user the right to read and write ${file} and its folder.`
    : `Give this user the right to write to ${path}.`;
};
const folderOf = (file: string): string => nearestExisting(dirname(file)).path;
const PATH: Hint = (_file, setting) => `Correct the path in ${setting}.`;
const SPACE: Hint = (file) =>
  `Free some space on the disk of ${folderOf(file)}, then run the same command again.`;
const BUSY: Hint = () =>
  'Wait until the other program has finished, or stop it, then run the same command again.';

/** By the code of the system, or by SQLite's primary result code (https://www.sqlite.org/rescode.html). */
const HINTS: Readonly<Record<string, Hint>> = {
  EACCES: RIGHTS,
  EPERM: RIGHTS,
  EROFS: RIGHTS,
  ENOTDIR: PATH,
  EEXIST: PATH,
  EISDIR: PATH,
  ENOENT: PATH,
  ENAMETOOLONG: PATH,
  ENOSPC: SPACE,
  EDQUOT: SPACE,
  '5': BUSY,
  '6': BUSY,
  '8': RIGHTS,
  '10': (file) => `Check the disk of ${folderOf(file)}: its free space, and the log of the system.`,
  '13': SPACE,
  '14': RIGHTS,
  '15': BUSY,
};

const ANYTHING: Hint = (_file, setting) => `Check ${setting}, and the file that it names.`;

/** What to do about a SQLite file that cannot be used now. */
export function sqliteHint(error: Error, database: SqliteDatabase, setting: string): string {
  const code = engineOf(database).errorCode(error) ?? '';
  return (HINTS[code] ?? ANYTHING)(database.file, setting);
}
