/**
 * What runs in a thread of its own while many leads are written: SQLite keeps whoever calls it busy until a commit is on
 * the disk, and meanwhile the next leads can be read. It has a connection of its own; the lock of the file keeps it apart
 * from the others, as it does processes.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { resultCode } from '../sqlite-result-code.ts';
import type { WriteOptions, WriteOutcome } from '../store.ts';
import { Connection } from './connection.ts';
import { LeadWriter } from './leads-write.ts';
import type { PackedLead } from './packed-lead.ts';

export interface ThreadOptions {
  readonly file: string;
  readonly lockWaitMs: number;
}

export interface ThreadRequest {
  readonly leads: readonly PackedLead[];
  readonly options: WriteOptions;
}

/** The outcome is undefined when the lock was not to be had. */
export type ThreadAnswer =
  | { readonly outcome: WriteOutcome | undefined }
  | { readonly failure: ThreadFailure };

export interface ThreadFailure {
  readonly name: string;
  readonly message: string;
  /** SQLite's result code. */
  readonly code: number | undefined;
}

/**
 * In pages of the log: 16 MB, four times SQLite's default. A page that many batches change is copied into the file once
 * for all of them, which takes a quarter of the time of an import over 100 companies.
 */
const CHECKPOINT_PAGES = 4000;
/**
 * 16 MB instead of 2: an import over many companies appends to many places at once. Measured over 100 companies, that takes a
 * third of the system time for each lead.
 */
const CACHE_KB = 16_000;

function open({ file, lockWaitMs }: ThreadOptions) {
  const connection = new Connection(file);
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cache_size = -${CACHE_KB}`);
  const writer = new LeadWriter(connection, systemClock);
  return ({ leads, options }: ThreadRequest) =>
    connection.locked(lockWaitMs, () => writer.write(leads, options));
}

const write = open(workerData);

async function answer(request: ThreadRequest): Promise<ThreadAnswer> {
  try {
    return { outcome: (await write(request))?.result };
  } catch (error) {
    const { name, message, cause } = error instanceof Error ? error : new Error(String(error));
    return { failure: { name, message, code: resultCode(cause) } };
  }
}

parentPort?.on('message', async (request: ThreadRequest) => parentPort?.postMessage(await answer(request)));
