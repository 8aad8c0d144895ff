import { realpathSync, rmSync } from 'node:fs';
import { messageOf } from '../../system-error.ts';
import { StoreUnavailableError } from '../store.ts';
import { type FileIdentity, identifyFile, isSameFile } from './file-identity.ts';
import type { PreparedDatabase } from './prepared.ts';

/** Where the store reports what an operator must know. One line for each event. */
export interface StoreLog {
  warn(message: string): void;
  error(message: string): void;
}

export interface CurrentFileOptions {
  readonly file: string;
  /** Opens the file that is at the path now, at once or not at all. */
  readonly open: () => PreparedDatabase;
  readonly log: StoreLog | undefined;
}

/** How often the file at the path is compared with the one that is open. */
const CHECK_EVERY_MS = 1000;
/** The log of a database and its index, which SQLite finds by their names. */
const SIDE_FILES = ['-wal', '-shm'];

/**
 * The database at a path. SQLite keeps to the file that it has opened, also when an operator has deleted it or put a backup
 * in its place; this class notices that, and opens the new file.
 */
export class CurrentFile {
  readonly #options: CurrentFileOptions;
  readonly #timer: NodeJS.Timeout;
  #database: PreparedDatabase;
  /** The side files of the open database, by their paths. */
  #sideFiles: ReadonlyMap<string, FileIdentity | undefined>;
  /** Files that were closed. A driver may keep its hold on one until its statements are garbage, so none is opened again. */
  readonly #closedFiles = new Set<string>();
  /** While there is one, the database must not be used. */
  #fault: StoreUnavailableError | undefined;
  #isClosed = false;

  constructor(database: PreparedDatabase, options: CurrentFileOptions) {
    this.#options = options;
    this.#database = database;
    this.#sideFiles = findSideFiles(options.file);
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS).unref();
  }

  get database(): PreparedDatabase {
    if (this.#fault) throw this.#fault;
    return this.#database;
  }

  check(): void {
    if (this.#isClosed) return;
    try {
      this.#follow();
      this.#fault = undefined;
    } catch (error) {
      const fault = error instanceof StoreUnavailableError ? error : this.#cannotOpen(error);
      if (fault.message !== this.#fault?.message) this.#options.log?.error(fault.message);
      this.#fault = fault;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const { connection, leads } = this.#database;
    await leads.close();
    if (!connection.isClosed) connection.close();
  }

  #follow(): void {
    const { file, log } = this.#options;
    const { connection } = this.#database;
    const identity = identifyFile(file);
    if (identity === undefined)
      throw new StoreUnavailableError(
        `the database file ${file} is missing: put it back, or stop Leadtap and restore a backup`,
      );
    if (!connection.isClosed && isSameFile(identity, connection.identity)) return;
    if (this.#closedFiles.has(keyOf(identity)))
      throw new StoreUnavailableError(
        `the database file ${file} was replaced by one that Leadtap had open before: restart Leadtap`,
      );
    if (!connection.isClosed) this.#closeReplaced();
    this.#database = this.#options.open();
    this.#sideFiles = findSideFiles(file);
    log?.warn(`the database file ${file} was replaced: Leadtap has opened the new file`);
  }

  /**
   * Closes the file that was replaced. Its log is still at the path, and SQLite would apply it to the new file: so it is
   * written into the old file first, and removed. A log that came with the new file stays.
   */
  #closeReplaced(): void {
    const { connection, leads } = this.#database;
    this.#emptyLog();
    const own = [...this.#sideFiles].filter(([path, identity]) => isSameFile(identity, identifyFile(path)));
    void leads.close();
    connection.close();
    if (connection.identity) this.#closedFiles.add(keyOf(connection.identity));
    for (const [path] of own) rmSync(path, { force: true });
  }

  /** The log may hold acknowledged leads that are nowhere else: unless all of it is in the old file, it stays. */
  #emptyLog(): void {
    const { file } = this.#options;
    let isEmpty: boolean;
    try {
      isEmpty = this.#database.connection.emptyWriteAheadLog();
    } catch (error) {
      throw new StoreUnavailableError(
        `the database file ${file} was replaced, but ${file}-wal has leads of the old file that cannot be written to it ` +
          `(${messageOf(error)}): remove the cause, or stop Leadtap and move ${file}-wal away`,
        { cause: error },
      );
    }
    if (!isEmpty)
      throw new StoreUnavailableError(
        `the database file ${file} was replaced while another program uses the old file: stop that program`,
      );
  }

  #cannotOpen(error: unknown): StoreUnavailableError {
    const { file } = this.#options;
    return new StoreUnavailableError(
      `the database file ${file} was replaced by one that cannot be used (${messageOf(error)}): restore a backup`,
      { cause: error },
    );
  }
}

/** With the birth time, because the inode of a closed file that is deleted may be given to the next replacement. */
const keyOf = ({ inode, birthtimeNs }: FileIdentity): string => `${inode} ${birthtimeNs}`;

/** SQLite follows links before it names these. */
function findSideFiles(file: string): ReadonlyMap<string, FileIdentity | undefined> {
  const realFile = realpathSync(file);
  return new Map(SIDE_FILES.map((suffix) => [`${realFile}${suffix}`, identifyFile(`${realFile}${suffix}`)]));
}
