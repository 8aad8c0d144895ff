/** Writes what is recorded off the path of requests: in memory by key, bounded, written in batches, tried again, and flushed at the stop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitFor } from './timeout.ts';

export interface BatchOptions<Entry> {
  /** At most this long after it was recorded, an entry is written. Default: 5 seconds. */
  readonly flushMs?: number | undefined;
  /** Entries in memory. Further ones are dropped until the next write. Default: 50,000. */
  readonly maxEntries?: number | undefined;
  /** Of one transaction. */
  readonly maxBatch: number;
  /** What counts of an entry towards `maxBatch`. Default: 1. */
  readonly weigh?: (entry: Entry) => number;
  /** In one transaction. */
  readonly write: (entries: readonly Entry[]) => Promise<unknown>;
  /** After the first write that fails, until one succeeds again. */
  readonly onFailure: (error: unknown) => void;
  /** An entry was dropped: what it had is not known. At most once between two writes. */
  readonly onDrop: () => void;
}

const FLUSH_MS = 5000;
const MAX_ENTRIES = 50_000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2000;
/** The share of the time that the writes take at most. What is left stays in memory until the next write. */
const MAX_WRITE_SHARE = 0.02;

export class BatchWriter<Entry> {
  readonly #options: BatchOptions<Entry>;
  readonly #flushMs: number;
  readonly #entries = new Map<string, Entry>();
  /** Those of a transaction that has failed, or is running. */
  #unwritten: readonly Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Writes run one after the other: two at once would write the same entries. */
  #lastWrite: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #hasDropped = false;
  #isClosed = false;

  constructor(options: BatchOptions<Entry>) {
    this.#options = options;
    this.#flushMs = options.flushMs ?? FLUSH_MS;
  }

  /** The number of entries that are not written. */
  get size(): number {
    return this.#entries.size + this.#unwritten.length;
  }

  find(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** The entry of this key, to which more is added. Undefined if there is no room for it. */
  entryOf(key: string, create: () => Entry): Entry | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.size >= (this.#options.maxEntries ?? MAX_ENTRIES) || this.#isClosed) {
      this.drop();
      return undefined;
    }
    const entry = create();
    this.#entries.set(key, entry);
    this.#schedule();
    return entry;
  }

  /** Something could not be added. */
  drop(): void {
    if (!this.#hasDropped) this.#options.onDrop();
    this.#hasDropped = true;
  }

  /** Writes all. Does not reject: a database that fails loses bookkeeping, never a request. */
  flush(): Promise<void> {
    return this.#enqueue(Number.POSITIVE_INFINITY, () => true);
  }

  /** Writes these, so that they are in the database when it is read next. Does not reject. */
  flushWhere(isWanted: (entry: Entry) => boolean): Promise<void> {
    return this.#enqueue(Number.POSITIVE_INFINITY, isWanted);
  }

  /** Writes once more, then does `last`, and waits for both for 2 seconds at most. Nothing is recorded any more. */
  async close(last: () => Promise<void> = async () => {}): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await waitFor(MAX_CLOSE_MS, this.flush().then(last));
  }

  #schedule(): void {
    if (!this.#isClosed)
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#enqueue(this.#flushMs * MAX_WRITE_SHARE, () => true);
      }, this.#flushMs).unref();
  }

  #enqueue(maxMs: number, isWanted: (entry: Entry) => boolean): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write(maxMs, isWanted));
    return this.#lastWrite;
  }

  /** At least one transaction, and further ones until the time is used up. */
  async #write(maxMs: number, isWanted: (entry: Entry) => boolean): Promise<void> {
    let spentMs = 0;
    try {
      while (spentMs <= maxMs && this.#take(isWanted)) {
        const startedAt = performance.now();
        await this.#options.write(this.#unwritten);
        spentMs += performance.now() - startedAt;
        this.#unwritten = [];
        this.#hasDropped = false;
        // Requests that arrived meanwhile are answered first.
        await nextTurn();
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error);
      this.#hasFailed = true;
    }
    if (this.size > 0) this.#schedule();
  }

  /** Takes the entries of the next transaction: those of one that has failed, or the oldest ones. False if there are none. */
  #take(isWanted: (entry: Entry) => boolean): boolean {
    if (this.#unwritten.length > 0) return true;
    const { maxBatch, weigh = () => 1 } = this.#options;
    const taken: Entry[] = [];
    let weight = 0;
    for (const [key, entry] of this.#entries) {
      if (!isWanted(entry)) continue;
      weight += weigh(entry);
      if (taken.length > 0 && weight > maxBatch) break;
      taken.push(entry);
      this.#entries.delete(key);
    }
    this.#unwritten = taken;
    return taken.length > 0;
  }
}
