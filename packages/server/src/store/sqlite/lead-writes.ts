import { type Clock, systemClock } from '../../clock.ts';
import type { LeadInput } from '../records.ts';
import type { WriteOptions, WriteOutcome } from '../store.ts';
import type { Connection } from './connection.ts';
import { LeadWriter } from './leads-write.ts';
import { packLead } from './packed-lead.ts';
import { canUseThread, ThreadedWriter } from './threaded-writer.ts';

/** A thread takes as long to start as so many leads take to be written: two of these batches, and more are to be expected. */
const LARGE_BATCH = 1000;
const BATCHES_IN_PLACE = 2;

export interface LeadWritesOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly lockWaitMs: number;
}

/** Writes leads in place, or, for whoever writes many, in a thread of its own, so that the next ones can be read meanwhile. */
export class LeadWrites {
  readonly #connection: Connection;
  readonly #options: LeadWritesOptions;
  readonly #inPlace: LeadWriter;
  #thread: ThreadedWriter | undefined;
  #largeBatches = 0;

  constructor(connection: Connection, options: LeadWritesOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#inPlace = new LeadWriter(connection, options.clock);
  }

  /** Undefined when another program kept the lock. */
  async write(leads: readonly LeadInput[], options: WriteOptions): Promise<WriteOutcome | undefined> {
    const packed = leads.map(packLead);
    if (leads.length >= LARGE_BATCH) this.#largeBatches += 1;
    if (this.#largeBatches > BATCHES_IN_PLACE) this.#thread ??= this.#startThread();
    if (this.#thread) return this.#thread.write(packed, options);
    const { lockWaitMs } = this.#options;
    const written = await this.#connection.locked(lockWaitMs, () => this.#inPlace.write(packed, options));
    return written?.result;
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  /** A clock of the caller's own stays in the caller's thread. */
  #startThread(): ThreadedWriter | undefined {
    const { file, clock, lockWaitMs } = this.#options;
    return clock === systemClock && canUseThread() ? new ThreadedWriter({ file, lockWaitMs }) : undefined;
  }
}
