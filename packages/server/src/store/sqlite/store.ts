import { type Clock, systemClock } from '../../clock.ts';
import { findPlacementProblems } from '../placement.ts';
import type { IssuedToken, LeadInput, LeadRecord, Organisation, User } from '../records.ts';
import type { RollbackWith } from '../rollback.ts';
import {
  type AccountCounts,
  type ApplyOutcome,
  type ChangeTrackingStore,
  type Inspection,
  type ListedToken,
  type MigrationReport,
  type Page,
  type PageQuery,
  type PlacementProblem,
  type Revalidation,
  type RevalidationRequest,
  SchemaVersionError,
  type Store,
  type StoreStatus,
  UnusableDatabaseError,
  type UpdateUserOutcome,
  type UserChanges,
  type WriteOptions,
  type WriteOutcome,
} from '../store.ts';
import { checkFiles } from './check-files.ts';
import { CurrentFile, type StoreLog } from './current-file.ts';
import { asStoreError, isDamage } from './errors.ts';
import { expectedVersion, migrate, refuseForeignDatabase, schemaVersion } from './migrate.ts';
import { fileExists, firstWork, granted, openConnection, useSchema, withConnection } from './opening.ts';
import { type PreparedDatabase, type PrepareOptions, prepareDatabase } from './prepared.ts';

export type { StoreLog } from './current-file.ts';

/** A stuck writer must not stop the polling: after this a poll answers from what is committed. */
const POLL_LOCK_WAIT_MS = 1000;
/** Looks of other processes are over at once, and so are most writes; who writes for longer is waited for poll by poll. */
const LOOK_LOCK_WAIT_MS = 20;
/** A write that cannot begin for this long fails with "unavailable"; nothing was written. */
const WRITE_LOCK_WAIT_MS = 10_000;
const NO_COMPANIES: ReadonlySet<string> = new Set();

export interface SqliteOptions {
  readonly file: string;
  /** Bring the schema up to date first (the default), or refuse one that is not. */
  readonly migrate?: boolean;
  /** Make the database if there is none (the default), or refuse. Needs `migrate`. */
  readonly create?: boolean;
  readonly clock?: Clock;
  readonly pollLockWaitMs?: number;
  readonly writeLockWaitMs?: number;
  /** What the operator must know about the file: that it is missing, replaced or damaged. */
  readonly log?: StoreLog;
}

/** What stands in the file, without making or changing anything. */
export async function inspectSqlite(file: string): Promise<Inspection> {
  const expected = expectedVersion();
  if (!fileExists(file)) return { exists: false, schemaVersion: 0, expectedVersion: expected, faults: [] };
  return withConnection(file, (connection) => {
    refuseForeignDatabase(connection);
    const faults = checkFiles(connection);
    return { exists: true, schemaVersion: schemaVersion(connection), expectedVersion: expected, faults };
  });
}

export async function migrateSqlite(file: string): Promise<MigrationReport> {
  return withConnection(file, (connection) => {
    refuseForeignDatabase(connection);
    connection.useWriteAheadLog();
    return migrate(connection);
  });
}

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { file, log, migrate: mayMigrate = true, create = true } = options;
  // Opening would make the file: as a user who is not meant to own it, or in a folder that was not meant.
  if (!(mayMigrate && create) && !fileExists(file)) throw new SchemaVersionError(0, expectedVersion());
  const settings: Settings = {
    file,
    clock: options.clock ?? systemClock,
    pollLockWaitMs: options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS,
    writeLockWaitMs: options.writeLockWaitMs ?? WRITE_LOCK_WAIT_MS,
  };
  const connection = openConnection(file);
  try {
    return await firstWork(connection, () => {
      useSchema(connection, { mayMigrate, create });
      const open = () => reopen(settings, mayMigrate);
      const current = new CurrentFile(prepareDatabase(connection, settings), { file, open, log });
      return new SqliteStore(current, settings, log);
    });
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a file that has replaced another one. Unlike at the start, an empty file is not taken for a new installation. */
function reopen(settings: Settings, mayMigrate: boolean): PreparedDatabase {
  const connection = openConnection(settings.file);
  try {
    refuseForeignDatabase(connection);
    if (schemaVersion(connection) === 0) throw new UnusableDatabaseError('the file holds no database');
    useSchema(connection, { mayMigrate, create: false });
    return prepareDatabase(connection, settings);
  } catch (error) {
    connection.close();
    throw asStoreError(error);
  }
}

type Settings = PrepareOptions & { readonly pollLockWaitMs: number };
type Work<T> = (database: PreparedDatabase) => T;

class SqliteStore implements Store, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly #current: CurrentFile;
  readonly #settings: Settings;
  readonly #log: StoreLog | undefined;
  /** The read that last met a damaged file. Until it succeeds, the store is not ready. */
  #failedRead: Work<unknown> | undefined;

  constructor(current: CurrentFile, settings: Settings, log: StoreLog | undefined) {
    this.#current = current;
    this.#settings = settings;
    this.#log = log;
  }

  async findUser(userId: string): Promise<User | undefined> {
    return this.#read(({ users }) => users.find(userId));
  }

  async isTokenRevoked(tokenId: string): Promise<boolean> {
    return this.#read(({ tokens }) => tokens.isRevoked(tokenId));
  }

  /** While another process writes for long, all companies are busy; what has changed is told all the same. */
  async revalidate(
    { companies, bearers }: RevalidationRequest,
    known: string | undefined,
  ): Promise<Revalidation> {
    const tell = ({ tokens, users, readChanges }: PreparedDatabase) => ({
      readAt: this.#settings.clock(),
      accounts: bearers.map(({ userId, tokenId }) => ({
        isRevoked: tokenId !== undefined && tokens.isRevoked(tokenId),
        user: users.find(userId),
      })),
      ...readChanges(known),
    });
    const atOnce = await this.#read((database): Revalidation => {
      const { connection } = database;
      const held = connection.unlessBusy(() => connection.whileNobodyWrites(() => tell(database)));
      if (held) return { ...held, busy: NO_COMPANIES };
      const told = tell(database);
      const theirs = told.accounts.flatMap(({ user }) => user?.companyId ?? []);
      return { ...told, busy: new Set([...companies, ...theirs]) };
    });
    const waitMs = Math.min(LOOK_LOCK_WAIT_MS, this.#settings.pollLockWaitMs);
    if (atOnce.busy.size === 0 || waitMs === 0) return atOnce;
    const held = await this.#readLocked(waitMs, tell);
    return held ? { ...held.result, busy: NO_COMPANIES } : atOnce;
  }

  async readLeads(query: PageQuery): Promise<readonly LeadRecord[]> {
    return this.#read(({ readLeads }) => readLeads(query));
  }

  /**
   * Reads under the write lock: while it is held, no writer of any process stands between stamp and commit,
   * so every lead still to come is stamped after this moment (D3).
   */
  async readPage(query: PageQuery): Promise<Page> {
    const { companyId } = query.scope;
    const { clock, pollLockWaitMs } = this.#settings;
    const page = await this.#readLocked(pollLockWaitMs, ({ readLeads, readLastStamp }) => ({
      leads: readLeads(query),
      readAt: clock(),
      locked: true,
      lastStamp: readLastStamp(companyId),
    }));
    if (page) return page.result;
    // The stamp is read before the leads: what is committed in between is in the page all the same.
    return this.#read(({ readLeads, readLastStamp }) => {
      const lastStamp = readLastStamp(companyId);
      const readAt = Math.min(clock(), lastStamp ?? 0);
      return { leads: readLeads(query), readAt, locked: false, lastStamp };
    });
  }

  async applyOrganisation(organisation: Organisation): Promise<ApplyOutcome> {
    return this.#write((database, rollbackWith: RollbackWith<ApplyOutcome>) =>
      database.applyOrganisation(organisation, rollbackWith),
    );
  }

  async listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]> {
    return this.#read(({ users }) => users.list(afterId, limit));
  }

  async updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome> {
    return this.#write(({ users }) => users.update(userId, changes));
  }

  async removeUser(userId: string): Promise<boolean> {
    return this.#write(({ users }) => users.remove(userId));
  }

  async recordTokens(issued: readonly IssuedToken[]): Promise<void> {
    return this.#write(({ tokens }) => tokens.record(issued));
  }

  async listTokens(userId: string): Promise<readonly ListedToken[]> {
    return this.#read(({ tokens }) => tokens.list(userId));
  }

  async findToken(tokenId: string): Promise<IssuedToken | undefined> {
    return this.#read(({ tokens }) => tokens.find(tokenId));
  }

  async revokeToken(tokenId: string): Promise<boolean> {
    return this.#write(({ tokens }) => tokens.revoke(tokenId, this.#settings.clock()));
  }

  async writeLeads(leads: readonly LeadInput[], options: WriteOptions = {}): Promise<WriteOutcome> {
    return granted(await this.#current.database.leads.write(leads, options));
  }

  async findPlacementProblems(leads: readonly LeadInput[]): Promise<readonly PlacementProblem[][]> {
    return this.#read((database) => {
      const places = database.beginPlaces();
      return leads.map((lead) => findPlacementProblems(lead, places));
    });
  }

  async countAccounts(): Promise<AccountCounts> {
    return this.#read(({ users }) => users.countAccounts());
  }

  async ping(): Promise<void> {
    this.#current.check();
    await this.#read((database) => database.ping());
    const failed = this.#failedRead;
    if (!failed) return;
    await this.#read(failed);
    if (this.#failedRead === failed) this.#failedRead = undefined;
  }

  async status(): Promise<StoreStatus> {
    const row = await this.#read((database) => database.readStatus());
    const { engine = 'SQLite', latestStamp = 0 } = row ?? {};
    return { engine, latestStamp, now: this.#settings.clock() };
  }

  async close(): Promise<void> {
    await this.#current.close();
  }

  async #read<T>(work: Work<T>): Promise<T> {
    const { database } = this.#current;
    const { pollLockWaitMs } = this.#settings;
    return granted(
      await this.#noteDamage(
        work,
        database.connection.whenFree(pollLockWaitMs, () => work(database)),
      ),
    ).result;
  }

  /** Undefined when another process kept the write lock for so long. */
  #readLocked<T>(waitMs: number, work: Work<T>): Promise<{ readonly result: T } | undefined> {
    const { database } = this.#current;
    return this.#noteDamage(
      work,
      database.connection.locked(waitMs, () => work(database)),
    );
  }

  async #write<T>(work: (database: PreparedDatabase, rollbackWith: RollbackWith<T>) => T): Promise<T> {
    const { database } = this.#current;
    const waitMs = this.#settings.writeLockWaitMs;
    return granted(
      await database.connection.locked<T>(waitMs, (rollbackWith) => work(database, rollbackWith)),
    ).result;
  }

  /** A read that finds the file damaged is kept, so that `ping` can try it again. */
  async #noteDamage<T>(work: Work<unknown>, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      if (isDamage(error)) {
        if (!this.#failedRead)
          this.#log?.error(
            `${error.message} (${this.#settings.file}): run leadtap doctor; stop Leadtap and restore a backup`,
          );
        this.#failedRead = work;
      }
      throw error;
    }
  }
}
