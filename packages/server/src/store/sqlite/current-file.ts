import { realpathSync, rmSync, statSync } from 'node:fs';
import { messageOf } from '../../system-error.ts';
import { StoreUnavailableError } from '../store.ts';
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

/** Device and inode: a file that replaces another one at the same path has another pair. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino}`;
}

/**
 * The database at a path. SQLite keeps to the file that it has opened, also when an operator has deleted it or put a backup
 * in its place; this class notices that, and opens the new file.
 */
export class CurrentFile {
  readonly #options: CurrentFileOptions;
  readonly #timer: NodeJS.Timeout;
  #database: PreparedDatabase;
  #identity: string | undefined;
  /** The side files of the open database, by their paths. */
  #sideFiles: ReadonlyMap<string, string | undefined>;
  /** Files that were closed. A driver may keep its hold on one until its statements are garbage, so none is opened again. */
  readonly #left = new Set<string>();
  /** While there is one, the database must not be used. */
  #fault: StoreUnavailableError | undefined;
  #isClosed = false;

  /** The identity is that of the file before it was opened: if it was replaced meanwhile, the first check notices. */
  constructor(database: PreparedDatabase, identity: string | undefined, options: CurrentFileOptions) {
    this.#options = options;
    this.#database = database;
    this.#identity = identity;
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
    const identity = identityOf(file);
    if (identity === undefined)
      throw new StoreUnavailableError(
        `the database file ${file} is missing: put it back, or stop Leadtap and restore a backup`,
      );
    if (identity === this.#identity) return;
    if (this.#left.has(identity))
      throw new StoreUnavailableError(
        `the database file ${file} was replaced by one that Leadtap had open before: restart Leadtap`,
      );
    this.#leave();
    // Whichever file is there at the next check, if this one cannot be opened.
    if (this.#identity !== undefined) this.#left.add(this.#identity);
    this.#identity = undefined;
    this.#database = this.#options.open();
    this.#identity = identity;
    this.#sideFiles = findSideFiles(file);
    log?.warn(`the database file ${file} was replaced: Leadtap has opened the new file`);
  }

  /**
   * Closes the file that was replaced. Its log is still at the path, and SQLite would apply it to the new file: so it is
   * written into the old file first, and removed. A log that came with the new file stays.
   */
  #leave(): void {
    const { connection, leads } = this.#database;
    if (connection.isClosed) return;
    if (!connection.emptyWriteAheadLog())
      throw new StoreUnavailableError(
        `the database file ${this.#options.file} was replaced while another program uses the old file: stop that program`,
      );
    void leads.close();
    connection.close();
    for (const [path, identity] of this.#sideFiles)
      if (identity !== undefined && identityOf(path) === identity) rmSync(path, { force: true });
  }

  #cannotOpen(error: unknown): StoreUnavailableError {
    const { file } = this.#options;
    return new StoreUnavailableError(
      `the database file ${file} was replaced by one that cannot be used (${messageOf(error)}): restore a backup`,
      { cause: error },
    );
  }
}

/** SQLite follows links before it names these. */
function findSideFiles(file: string): ReadonlyMap<string, string | undefined> {
  const realFile = realpathSync(file);
  return new Map(SIDE_FILES.map((suffix) => [`${realFile}${suffix}`, identityOf(`${realFile}${suffix}`)]));
}
