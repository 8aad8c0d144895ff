import { closeSync, mkdirSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/system-error.ts';
import { StoreUnavailableError } from '../../sql/errors.ts';
import { asStoreError, isBusy } from './errors.ts';

export type SqlValue = string | number | null;

/** The part of the `node:sqlite` API that Leadtap uses. */
export interface Statement<Row> {
  run(...values: SqlValue[]): { changes: number | bigint };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

interface Driver {
  DatabaseSync: new (
    file: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): Statement<unknown>;
    close(): void;
  };
}

const require = createRequire(import.meta.url);

/** SQLite is built into Node from 22.13 on. Before that, a package with the same API and prebuilt binaries is used. */
export function loadDriver(): Driver {
  const builtIn: Driver | undefined = process.getBuiltinModule('node:sqlite');
  if (builtIn) return builtIn;
  const fallback: Driver = require('@photostructure/sqlite');
  return fallback;
}

/** Device and inode; undefined if there is no file. Unique while the file is open: later its inode may be reused. */
export function identifyFile(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino}`;
}

export const isSameFile = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && a === b;

const MAX_RETRY_DELAY_MS = 8;
/** Bounds the memory while a writer holds the lock for long: further calls are rejected at once. */
const MAX_QUEUED_RETRIES = 1000;

/** One connection to the database file. Its queries are synchronous and short; waiting for a lock is asynchronous. */
export class Connection {
  /** Of the open file; undefined if it was deleted while it was being opened. */
  readonly identity: string | undefined;
  readonly #database;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #savepoint;
  readonly #releaseSavepoint;
  readonly #rollbackToSavepoint;
  #queued = 0;
  #isClosed = false;

  constructor(file: string) {
    const { DatabaseSync } = loadDriver();
    const before = identifyFile(file);
    this.#database = new DatabaseSync(file);
    try {
      this.identity = identifyFile(file);
      // Otherwise it is unknown which of the two files is open.
      if (before && !isSameFile(before, this.identity))
        throw new StoreUnavailableError('the database file was replaced while it was being opened');
      this.#configure();
      this.#begin = this.prepare('BEGIN IMMEDIATE');
      this.#commit = this.prepare('COMMIT');
      this.#rollback = this.prepare('ROLLBACK');
      this.#savepoint = this.prepare('SAVEPOINT part');
      this.#releaseSavepoint = this.prepare('RELEASE part');
      this.#rollbackToSavepoint = this.prepare('ROLLBACK TO part');
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #configure(): void {
    // These statements read the file, which another process may have locked. No poll is served yet, so waiting is fine.
    this.#database.exec('PRAGMA busy_timeout = 5000');
    // Of a new file, instead of 4096, where each lead over 1 kB takes a page of its own: 10,000 such leads take 13 MB instead
    // of 48, and writing 1,000 of them half of the time.
    this.#database.exec('PRAGMA page_size = 8192');
    // D6: a commit is on the disk before it is acknowledged. The default of WAL mode would lose it in a power cut, and
    // so would a plain fsync on macOS.
    this.#database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON');
    // A row that is deleted or replaced is overwritten, so that `leads erase` leaves no older version of it in the file.
    this.#database.exec('PRAGMA secure_delete = ON');
    // 16 MB instead of 2: an import into 100 companies writes to many pages at once and takes a quarter less CPU time.
    this.#database.exec('PRAGMA cache_size = -16000');
    // Statement journals: SQLite for Node 20 writes them to a file at once, which took two thirds of the time of an update.
    this.#database.exec('PRAGMA temp_store = MEMORY');
    // From here on SQLite never waits, because that would block the event loop. `retryWhileBusy` waits instead.
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /** Lets readers and a writer work at the same time. The mode is stored in the file; only the first switch needs it alone. */
  useWriteAheadLog(): void {
    this.#database.exec('PRAGMA journal_mode = WAL');
  }

  /** Copies the whole write-ahead log into the database file. False when another program is using the log. */
  checkpoint(): boolean {
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

  /** The column names come from SQL; the conformance suite shows that `Row` describes them. */
  prepare<Row = Record<string, never>>(sql: string): Statement<Row> {
    return this.#database.prepare(sql) as Statement<Row>;
  }

  /** Runs the work in a transaction that holds the write lock. Throws SQLITE_BUSY when another process holds it. */
  transaction<T>(work: () => T): T {
    this.#begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Runs a part of a transaction. If it throws, this part alone is rolled back, and the error is returned. */
  savepoint<T>(work: () => T): { readonly value: T } | { readonly error: unknown } {
    this.#savepoint.run();
    try {
      const value = work();
      this.#releaseSavepoint.run();
      return { value };
    } catch (error) {
      try {
        this.#rollbackToSavepoint.run();
        this.#releaseSavepoint.run();
      } catch {
        // After some errors, such as a full disk, SQLite has already rolled back the whole transaction.
        throw error;
      }
      return { error };
    }
  }

  #rollBack(): void {
    try {
      this.#rollback.run();
    } catch {
      // After some errors, such as a full disk, SQLite has already rolled back. The caller throws the original error.
    }
  }

  /**
   * Retries a transaction while another process holds the lock, and a read while another process recovers the write-ahead
   * log. Fails with an error that `isLockTimeout` recognises when `waitMs` have passed.
   */
  async retryWhileBusy<T>(waitMs: number, work: () => T): Promise<T> {
    const deadline = performance.now() + waitMs;
    for (let delayMs = 1; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_DELAY_MS)) {
      try {
        return work();
      } catch (error) {
        if (this.#isClosed) throw new StoreUnavailableError('the database is closed', { cause: error });
        if (!isBusy(error) || performance.now() >= deadline) throw asStoreError(error);
      }
      await this.#delay(delayMs);
    }
  }

  async #delay(delayMs: number): Promise<void> {
    if (this.#queued >= MAX_QUEUED_RETRIES)
      throw new StoreUnavailableError('too many requests wait for the lock of the database');
    this.#queued += 1;
    try {
      await sleep(delayMs);
    } finally {
      this.#queued -= 1;
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

export function openConnection(file: string): Connection {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite would create the file readable for every user of the machine. Its log gets the same mode as the file.
    closeSync(openSync(file, 'a', 0o600));
    return new Connection(file);
  } catch (error) {
    throw asStoreError(error);
  }
}

/** Receives events that the operator must know about: the file is missing, replaced or damaged. */
export interface StoreLog {
  error(message: string): void;
}

interface DatabaseFileOptions {
  readonly file: string;
  readonly log?: StoreLog;
  readonly onReplaced?: () => void;
}

/** How often the file at the path is compared with the open one. Every write compares them, too. */
const CHECK_INTERVAL_MS = 1000;
/** SQLite finds the write-ahead log and its index by their names. */
const LOG_SUFFIXES = ['-wal', '-shm'];

/**
 * The database at a path. SQLite keeps using the file that it has opened, even after an operator has deleted it or
 * replaced it by a backup; this class detects that. A replaced file is closed for good: the process must start again.
 */
export class DatabaseFile<Database extends { readonly connection: Connection }> {
  readonly #options: DatabaseFileOptions;
  readonly #timer: NodeJS.Timeout;
  /** The log files of the open database, by path. */
  readonly #logFiles: ReadonlyMap<string, string | undefined>;
  /** Undefined when the store is closed, so that nothing keeps the prepared statements. */
  #database: Database | undefined;
  /** While set, the database must not be used. */
  #fault: StoreUnavailableError | undefined;

  constructor(database: Database, options: DatabaseFileOptions) {
    this.#options = options;
    this.#database = database;
    // SQLite resolves symbolic links before it names the log files.
    const realFile = realpathSync(options.file);
    const logFiles = LOG_SUFFIXES.map((suffix) => `${realFile}${suffix}`);
    this.#logFiles = new Map(logFiles.map((path) => [path, identifyFile(path)]));
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  get database(): Database {
    if (this.#fault) throw this.#fault;
    if (!this.#database) throw new StoreUnavailableError('the database is closed');
    return this.#database;
  }

  /** If the file at the path is not the open one, `database` throws: until a missing file is back, or for good. */
  check(): void {
    const connection = this.#database?.connection;
    if (!connection || connection.isClosed) return;
    const message = this.#findFault(connection);
    if (message === this.#fault?.message) return;
    this.#fault = message === undefined ? undefined : new StoreUnavailableError(message);
    if (message !== undefined) this.#options.log?.error(message);
    if (connection.isClosed) this.#options.onReplaced?.();
  }

  /** For a writer that holds the lock: what it writes to a file that was replaced would be lost. */
  assertNotReplaced({ identity }: Connection): void {
    if (!isSameFile(identity, identifyFile(this.#options.file)))
      throw new StoreUnavailableError(`the database file ${this.#options.file} was replaced`);
  }

  close(): void {
    clearInterval(this.#timer);
    const connection = this.#database?.connection;
    this.#database = undefined;
    if (connection && !connection.isClosed) connection.close();
  }

  #findFault(connection: Connection): string | undefined {
    const { file } = this.#options;
    try {
      const identity = identifyFile(file);
      if (isSameFile(identity, connection.identity)) return undefined;
      if (identity !== undefined) return this.#closeReplaced(connection);
      return `the database file ${file} is missing: put it back, or stop Leadtap and restore a backup`;
    } catch (error) {
      return `the database file ${file} cannot be reached (${messageOf(error)})`;
    }
  }

  /**
   * SQLite would apply the log of the replaced file, which is still at the path, to the new file. So the log is copied
   * into the replaced file and deleted, because it may hold acknowledged leads. A log that came with the new file is kept.
   */
  #closeReplaced(connection: Connection): string {
    const { file } = this.#options;
    const replaced = `the database file ${file} was replaced`;
    try {
      if (!connection.checkpoint())
        return `${replaced} while another program uses the old file: stop that program`;
    } catch (error) {
      return (
        `${replaced}, but ${file}-wal has leads of the old file that cannot be written to it (${messageOf(error)}): ` +
        `remove the cause, or stop Leadtap and move ${file}-wal away`
      );
    }
    const ownLogs = [...this.#logFiles].filter(([path, identity]) =>
      isSameFile(identity, identifyFile(path)),
    );
    connection.close();
    for (const [path] of ownLogs) rmSync(path, { force: true });
    return `${replaced}: Leadtap must start again to use the new file`;
  }
}
