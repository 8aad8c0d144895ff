import { setTimeout as sleep } from 'node:timers/promises';
import type { VacuumReport } from '../../leads/removal.ts';
import { messageOf } from '../../lib/system-error.ts';
import type { Connection } from './connection.ts';

const AGAIN = 'Run `leadtap leads erase --vacuum` to remove them.';

/**
 * Removes the bytes of deleted leads from the file. `secure_delete` overwrites a row that is deleted, but when SQLite splits a
 * page, it leaves copies of rows in the unused part, in a test of one lead in a hundred: only VACUUM removes them. Polls are
 * answered meanwhile; writers wait, some seconds for each gigabyte. The write-ahead log has older versions of pages.
 */
export async function vacuum(
  connection: Connection,
  file: string,
  { full, waitMs }: { readonly full: boolean; readonly waitMs: number },
): Promise<VacuumReport> {
  const remains = full ? [] : [`Unused parts of ${file} may contain copies of deleted leads. ${AGAIN}`];
  const rewrite = () => connection.exec('PRAGMA temp_store = FILE; VACUUM');
  const failure = full ? await connection.retryWhileBusy(waitMs, rewrite).catch(messageOf) : undefined;
  // The copy that VACUUM makes may not fit into the memory, statement journals do.
  connection.exec('PRAGMA temp_store = MEMORY');
  if (failure !== undefined)
    remains.push(
      `${file} was not rewritten (${failure}), so it may contain copies of deleted leads. ${AGAIN}`,
    );
  const deadline = performance.now() + waitMs;
  while (!connection.checkpoint()) {
    if (performance.now() < deadline) await sleep(20);
    else {
      const log = `${file}-wal contains the deleted leads, because another program has been reading the database all the time. ${AGAIN}`;
      return { isComplete: false, remains: [...remains, log] };
    }
  }
  return { isComplete: failure === undefined, remains };
}
