/** Copies the database into a new file while it is in use. */
import { randomBytes } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { hasNoHardLinks, systemCode } from '../../lib/system-error.ts';
import { BackupTargetError, UnusableDatabaseError } from '../../sql/errors.ts';
import type { BackupReport } from '../store.ts';
import { driverModule } from './connection.ts';
import { asStoreError } from './errors.ts';

/**
 * The path is also right from `dist/`: the file is not compiled, so its only copy is in `src/`. Read here, because a thread
 * cannot load a file from inside the single executable.
 */
const WORKER = readFileSync(new URL('../../../src/store/sqlite/backup-worker.cjs', import.meta.url), 'utf8');

interface WorkerResult {
  readonly faults?: readonly string[];
  readonly error?: { readonly code?: string; readonly errcode?: number; readonly message: string };
}

/** The target gets its name when it is complete, checked and on the disk. */
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
    const { faults = [], error } = await copyInThread(source, partial, signal);
    if (error) throw Object.assign(new Error(error.message), error);
    if (faults.length > 0) throw new UnusableDatabaseError(`the copy is damaged: ${faults[0]}`);
    await syncToDisk(partial);
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

function copyInThread(source: string, target: string, signal: AbortSignal): Promise<WorkerResult> {
  const workerData = { driver: driverModule(), source, target };
  const worker = new Worker(WORKER, { eval: true, workerData });
  return new Promise<WorkerResult>((resolve, reject) => {
    const abort = () => void worker.terminate();
    signal.addEventListener('abort', abort, { once: true });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => {
      signal.removeEventListener('abort', abort);
      reject(signal.aborted ? signal.reason : new Error('the thread of the backup ended without a result'));
    });
    if (signal.aborted) abort();
  });
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
