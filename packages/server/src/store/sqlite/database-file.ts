import { realpathSync, rmSync } from 'node:fs';
import { messageOf } from '../../system-error.ts';
import { StoreUnavailableError } from '../store.ts';
import { type Connection, type FileIdentity, identifyFile, isSameFile } from './connection.ts';

/** Receives events that the operator must know about: the file is missing, replaced or damaged. */
export interface StoreLog {
  warn(message: string): void;
  error(message: string): void;
}

/** An open database: its connection, and the statements that were prepared on it. */
interface OpenDatabase {
  readonly connection: Connection;
}

interface DatabaseFileOptions<Database> {
  readonly file: string;
  /** Opens the file that is at the path now. */
  readonly open: () => Database;
  readonly log: StoreLog | undefined;
}

/** How often the file at the path is compared with the open one. Every write compares them, too. */
const CHECK_INTERVAL_MS = 1000;
/** SQLite finds the write-ahead log and its index by their names. */
const LOG_SUFFIXES = ['-wal', '-shm'];

/**
 * The database at a path. SQLite keeps using the file that it has opened, even after an operator has deleted it or
 * replaced it by a backup; this class detects that and opens the new file.
 */
export class DatabaseFile<Database extends OpenDatabase> {
  readonly #options: DatabaseFileOptions<Database>;
  readonly #timer: NodeJS.Timeout;
  /** Undefined when the store is closed, so that nothing keeps the prepared statements. */
  #database: Database | undefined;
  /** The log files of the open database, by path. */
  #logFiles: ReadonlyMap<string, FileIdentity | undefined>;
  /**
   * Files that were replaced. They are not opened again: the driver for Node before 22.13 cannot finalise statements, and
   * keeps a closed file open until its statements are garbage-collected.
   */
  readonly #replacedFiles = new Set<string>();
  /** While set, the database must not be used. */
  #fault: StoreUnavailableError | undefined;

  constructor(database: Database, options: DatabaseFileOptions<Database>) {
    this.#options = options;
    this.#database = database;
    this.#logFiles = findLogFiles(options.file);
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  get database(): Database {
    if (this.#fault) throw this.#fault;
    if (!this.#database) throw new StoreUnavailableError('the database is closed');
    return this.#database;
  }

  /** Opens the file at the path if it is not the open one. On failure `database` throws until a later check succeeds. */
  check(): void {
    if (!this.#database) return;
    try {
      this.#database = this.#followPath(this.#database);
      this.#fault = undefined;
    } catch (error) {
      const { file, log } = this.#options;
      const message = `the database file ${file} was replaced by one that cannot be used (${messageOf(error)}): restore a backup`;
      const fault =
        error instanceof StoreUnavailableError ? error : new StoreUnavailableError(message, { cause: error });
      if (fault.message !== this.#fault?.message) log?.error(fault.message);
      this.#fault = fault;
    }
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

  #followPath(database: Database): Database {
    const { file, log } = this.#options;
    const { connection } = database;
    const identity = identifyFile(file);
    if (identity === undefined)
      throw new StoreUnavailableError(
        `the database file ${file} is missing: put it back, or stop Leadtap and restore a backup`,
      );
    if (!connection.isClosed && isSameFile(identity, connection.identity)) return database;
    if (this.#replacedFiles.has(keyOf(identity)))
      throw new StoreUnavailableError(
        `the database file ${file} was replaced by one that Leadtap had open before: restart Leadtap`,
      );
    if (!connection.isClosed) this.#closeReplaced(connection);
    const opened = this.#options.open();
    this.#logFiles = findLogFiles(file);
    log?.warn(`the database file ${file} was replaced: Leadtap has opened the new file`);
    return opened;
  }

  /**
   * SQLite would apply the log of the replaced file, which is still at the path, to the new file. So the log is copied
   * into the replaced file and deleted. A log that came with the new file is kept.
   */
  #closeReplaced(connection: Connection): void {
    this.#checkpointReplaced(connection);
    const ownLogs = [...this.#logFiles].filter(([path, identity]) =>
      isSameFile(identity, identifyFile(path)),
    );
    connection.close();
    if (connection.identity) this.#replacedFiles.add(keyOf(connection.identity));
    for (const [path] of ownLogs) rmSync(path, { force: true });
  }

  /** The log may hold acknowledged leads that are not in the file yet. It is deleted only when all of it is copied. */
  #checkpointReplaced(connection: Connection): void {
    const { file } = this.#options;
    let isCopied: boolean;
    try {
      isCopied = connection.checkpoint();
    } catch (error) {
      throw new StoreUnavailableError(
        `the database file ${file} was replaced, but ${file}-wal has leads of the old file that cannot be written to it ` +
          `(${messageOf(error)}): remove the cause, or stop Leadtap and move ${file}-wal away`,
        { cause: error },
      );
    }
    if (!isCopied)
      throw new StoreUnavailableError(
        `the database file ${file} was replaced while another program uses the old file: stop that program`,
      );
  }
}

/** With the birth time, because the inode of a deleted file may be reused for its replacement. */
const keyOf = ({ inode, birthtimeNs }: FileIdentity): string => `${inode} ${birthtimeNs}`;

/** SQLite resolves symbolic links before it names the log files. */
function findLogFiles(file: string): ReadonlyMap<string, FileIdentity | undefined> {
  const realFile = realpathSync(file);
  return new Map(
    LOG_SUFFIXES.map((suffix) => [`${realFile}${suffix}`, identifyFile(`${realFile}${suffix}`)]),
  );
}
