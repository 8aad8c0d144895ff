import { realpathSync, rmSync } from 'node:fs';
import { messageOf } from '../../system-error.ts';
import { StoreUnavailableError } from '../errors.ts';
import { type Connection, identifyFile, isSameFile } from './connection.ts';

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
