import { setTimeout as pause } from 'node:timers/promises';
import { RollbackResult, type RollbackWith, rollbackWith } from '../rollback.ts';
import { StoreUnavailableError } from '../store.ts';
import { loadDriver, type SqlValue } from './driver.ts';
import { asStoreError, isBusy } from './errors.ts';
import { type FileIdentity, identifyFile, isSameFile } from './file-identity.ts';

export interface Statement<Row> {
  run(...values: SqlValue[]): number;
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

const LONGEST_PAUSE_MS = 8;
/** Whoever comes while so many wait already is turned away: a stuck writer must not fill the memory. */
const MOST_WAITING = 1000;

/** One connection to the database file. All its work is synchronous and short; all its waiting is not. */
export class Connection {
  /** Of the file that is open; undefined if it was deleted at once. */
  readonly identity: FileIdentity | undefined;
  readonly #database;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #dataVersion;
  #transactions = 0;
  #waiting = 0;
  #isClosed = false;

  constructor(file: string) {
    const { DatabaseSync } = loadDriver();
    const before = identifyFile(file);
    this.#database = new DatabaseSync(file);
    try {
      this.identity = identifyFile(file);
      // Then it is unknown which of the two is open.
      if (before && !isSameFile(before, this.identity))
        throw new StoreUnavailableError('the database file was replaced while it was being opened');
      this.#configure();
      this.#begin = this.prepare('BEGIN IMMEDIATE');
      this.#commit = this.prepare('COMMIT');
      this.#rollback = this.prepare('ROLLBACK');
      this.#dataVersion = this.prepare<{ data_version: number }>('PRAGMA data_version');
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #configure(): void {
    // What follows reads the file, and another process may be in the way for a moment: nobody is served yet.
    this.#database.exec('PRAGMA busy_timeout = 5000');
    // D6: a commit is on the disk before it is acknowledged. WAL's default would lose it with the power,
    // and so would a plain fsync on macOS.
    this.#database.exec('PRAGMA synchronous = FULL');
    this.#database.exec('PRAGMA fullfsync = ON');
    this.#database.exec('PRAGMA foreign_keys = ON');
    // From here on nothing waits in place, because that stops the event loop; `whenFree` waits from a timer.
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /**
   * Readers and a writer side by side. The file remembers it, so the switch, for which nobody else may be using
   * the file, happens once.
   */
  useWriteAheadLog(): void {
    this.#database.exec('PRAGMA journal_mode = WAL');
  }

  /** Writes all of the log into the file; false when another program is using it. */
  emptyWriteAheadLog(): boolean {
    try {
      return this.prepare<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
    } catch (error) {
      if (isBusy(error)) return false;
      throw asStoreError(error);
    }
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare<Row = Record<string, never>>(sql: string): Statement<Row> {
    const statement = this.#database.prepare(sql);
    return {
      run: (...values) => Number(statement.run(...values).changes),
      // SQLite names the columns; that `Row` describes them is what the conformance suite shows.
      get: (...values) => statement.get(...values) as Row | undefined,
      all: (...values) => statement.all(...values) as Row[],
    };
  }

  /** Runs the work in a transaction that holds the write lock, or throws SQLITE_BUSY when it is taken. */
  transaction<T>(work: (rollbackWith: RollbackWith<T>) => T): T {
    this.#transactions += 1;
    return this.whileNobodyWrites(work);
  }

  /** The same for work that only reads. */
  whileNobodyWrites<T>(work: (rollbackWith: RollbackWith<T>) => T): T {
    // Asked for rows, of which there are none: that takes less than asking how many were changed.
    this.#begin.get();
    try {
      const result = work(rollbackWith);
      this.#commit.get();
      return result;
    } catch (error) {
      this.#end();
      if (error instanceof RollbackResult) return error.result as T;
      throw error;
    }
  }

  /** As long as it is the same, nothing in the file has changed: neither by others, nor in a transaction of this connection. */
  version(): string {
    return `${this.#dataVersion.get()?.data_version} ${this.#transactions}`;
  }

  /** Ends a transaction that failed. */
  #end(): void {
    try {
      this.#rollback.run();
    } catch {
      // After some errors, a full disk for one, SQLite has rolled back by itself. The error itself tells more.
    }
  }

  /** Undefined when another process is in the way at this moment. */
  unlessBusy<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  /**
   * Runs the work under the write lock, trying again from a timer while another process holds it.
   * Undefined when that process did not let go within `waitMs`.
   */
  locked<T>(
    waitMs: number,
    work: (rollbackWith: RollbackWith<T>) => T,
  ): Promise<{ readonly result: T } | undefined> {
    return this.whenFree(waitMs, () => this.transaction(work));
  }

  /** The same for reading, which is refused only for the moment in which another process recovers the log. */
  async whenFree<T>(waitMs: number, work: () => T): Promise<{ readonly result: T } | undefined> {
    const deadline = performance.now() + waitMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return { result: work() };
      } catch (error) {
        if (this.#isClosed) throw new StoreUnavailableError('the database is closed', { cause: error });
        if (!isBusy(error)) throw asStoreError(error);
        if (performance.now() >= deadline) return undefined;
      }
      await this.#wait(pauseMs);
    }
  }

  async #wait(pauseMs: number): Promise<void> {
    if (this.#waiting >= MOST_WAITING)
      throw new StoreUnavailableError('too many requests wait for the lock of the database');
    this.#waiting += 1;
    try {
      await pause(pauseMs);
    } finally {
      this.#waiting -= 1;
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#database.close();
  }
}
