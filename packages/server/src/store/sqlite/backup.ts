/** Copies the database into a new file while it is in use. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasNoHardLinks, systemCode } from '../../lib/system-error.ts';
import { BackupTargetError, UnusableDatabaseError } from '../../sql/errors.ts';
import type { BackupReport } from '../store.ts';
import { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';

const LOCK_WAIT_MS = 10_000;

/**
 * The target gets its name when it is complete, checked and on the disk. Blocks this process, which is a command, while it copies.
 * VACUUM INTO is one read transaction: it contains all that was committed before it began, waits for no writer, and copies no
 * bytes of deleted rows.
 */
export async function backupSqlite(
  source: string,
  target: string,
  signal: AbortSignal,
): Promise<BackupReport> {
  await refuseExisting(target);
  const partial = `${target}.${randomBytes(4).toString('hex')}.partial`;
  try {
    // SQLite would create it readable for every user of the machine. It accepts an empty file.
    await (await open(partial, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)).close();
    signal.throwIfAborted();
    await inDatabase(source, (database) => database.prepare('VACUUM INTO ?').run(partial));
    const [found] = await inDatabase(partial, (database) =>
      database.prepare<{ integrity_check: string }>('PRAGMA integrity_check').all(),
    );
    const fault = found?.integrity_check;
    if (fault !== 'ok') throw new UnusableDatabaseError(`the copy is damaged: ${fault}`);
    await syncToDisk(partial);
    signal.throwIfAborted();
    await moveIntoPlace(partial, target);
    await syncToDisk(dirname(target));
    return { bytes: (await stat(target)).size };
  } catch (error) {
    // All calls of the file system are about the copy.
    if (error instanceof Error && 'syscall' in error) throw unwritable(target, error);
    throw asStoreError(error);
  } finally {
    for (const suffix of ['', '-journal']) await rm(`${partial}${suffix}`, { force: true });
  }
}

async function inDatabase<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = new Connection(file);
  try {
    return await connection.retryWhileBusy(LOCK_WAIT_MS, () => work(connection));
  } finally {
    connection.close();
  }
}

const unwritable = (target: string, cause: unknown): BackupTargetError =>
  new BackupTargetError(`${target} cannot be written`, { cause });
const existing = (target: string): BackupTargetError => new BackupTargetError(`${target} exists already`);

async function refuseExisting(target: string): Promise<void> {
  try {
    await lstat(target);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw unwritable(target, error);
  }
  throw existing(target);
}

async function syncToDisk(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Unlike a rename, a link never replaces a file that another program has created meanwhile. */
async function moveIntoPlace(partial: string, target: string): Promise<void> {
  try {
    await link(partial, target);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw existing(target);
    if (!hasNoHardLinks(error)) throw error;
    await rename(partial, target);
  }
}
