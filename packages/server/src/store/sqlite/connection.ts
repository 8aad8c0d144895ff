import { setTimeout as pause } from 'node:timers/promises';
import { loadDriver, type SqlValue } from './driver.ts';
import { asStoreError, isBusy } from './errors.ts';

export interface Statement<Row> {
  run(...values: SqlValue[]): number;
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

const LONGEST_PAUSE_MS = 8;

/** Carries a result out of a transaction that is rolled back. */
class Undone extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('rolled back');
    this.result = result;
  }
}

/** Ends the work of a transaction with a result, and undoes all that it wrote. */
export type Undo<T> = (result: T) => never;

const undo = (result: unknown): never => {
  throw new Undone(result);
};

/** One connection to the database file. All its work is synchronous and short; all its waiting is not. */
export class Connection {
  readonly #database;
  readonly #begin;
  readonly #commit;
  readonly #rollback;

  constructor(file: string) {
    const { DatabaseSync } = loadDriver();
    this.#database = new DatabaseSync(file);
    // While the file is opened and migrated, waiting in place is fine: nobody is served yet.
    this.#database.exec('PRAGMA busy_timeout = 5000');
    this.#database.exec('PRAGMA journal_mode = WAL');
    // D6: a commit is on the disk before it is acknowledged. WAL's default would lose it with the power.
    this.#database.exec('PRAGMA synchronous = FULL');
    this.#database.exec('PRAGMA foreign_keys = ON');
    this.#begin = this.prepare('BEGIN IMMEDIATE');
    this.#commit = this.prepare('COMMIT');
    this.#rollback = this.prepare('ROLLBACK');
  }

  /** From here on nothing waits in place any more, because that would stop the event loop. */
  neverBlock(): void {
    this.#database.exec('PRAGMA busy_timeout = 0');
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
  transaction<T>(work: (undo: Undo<T>) => T): T {
    this.#begin.run();
    try {
      const result = work(undo);
      this.#commit.run();
      return result;
    } catch (error) {
      this.#rollback.run();
      if (error instanceof Undone) return error.result as T;
      throw error;
    }
  }

  /**
   * Runs the work under the write lock, trying again from a timer while another process holds it.
   * Undefined when that process did not let go within `waitMs`.
   */
  locked<T>(waitMs: number, work: (undo: Undo<T>) => T): Promise<{ readonly result: T } | undefined> {
    return this.whenFree(waitMs, () => this.transaction(work));
  }

  /** The same for reading, which is refused only for the moment in which another process recovers the log. */
  async whenFree<T>(waitMs: number, work: () => T): Promise<{ readonly result: T } | undefined> {
    const deadline = performance.now() + waitMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return { result: work() };
      } catch (error) {
        if (!isBusy(error)) throw asStoreError(error);
        if (performance.now() >= deadline) return undefined;
      }
      await pause(pauseMs);
    }
  }

  close(): void {
    this.#database.close();
  }
}
