/** Removes the bytes of deleted leads from the file. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { VacuumReport } from '../../leads/removal.ts';
import { messageOf } from '../../lib/system-error.ts';
import type { Connection } from './connection.ts';

const CHECKPOINT_RETRY_MS = 20;

/** The copy that VACUUM makes is in a file: it may not fit into the memory. */
function vacuumThroughFile(connection: Connection): void {
  connection.exec('PRAGMA temp_store = FILE');
  try {
    connection.exec('VACUUM');
  } finally {
    connection.exec('PRAGMA temp_store = MEMORY');
  }
}

const AGAIN = 'Run `leadtap leads erase --vacuum` to remove them.';

/**
 * `secure_delete` overwrites a row that is deleted. But when SQLite splits a page, it leaves copies of rows in the unused part
 * of the page, in a test of one lead in a hundred. Only VACUUM, which writes the file again, removes them. Polls are answered
 * meanwhile; writers wait, some seconds for each gigabyte, and give up after 10 s.
 */
export async function vacuum(
  connection: Connection,
  file: string,
  { full, waitMs }: { readonly full: boolean; readonly waitMs: number },
): Promise<VacuumReport> {
  const remains: string[] = [];
  let isComplete = true;
  try {
    if (full) await connection.retryWhileBusy(waitMs, () => vacuumThroughFile(connection));
    else remains.push(`Unused parts of ${file} may contain copies of deleted leads. ${AGAIN}`);
  } catch (error) {
    isComplete = false;
    remains.push(
      `${file} was not rewritten (${messageOf(error)}), so it may contain copies of deleted leads. ${AGAIN}`,
    );
  }
  if (await checkpoint(connection, waitMs)) return { isComplete, remains };
  const log = `${file}-wal contains the deleted leads, because another program has been reading the database all the time. ${AGAIN}`;
  return { isComplete: false, remains: [...remains, log] };
}

/** Copies the write-ahead log, which contains older versions of pages, into the file and empties it. */
async function checkpoint(connection: Connection, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  while (!connection.checkpoint()) {
    if (performance.now() >= deadline) return false;
    await sleep(CHECKPOINT_RETRY_MS);
  }
  return true;
}
