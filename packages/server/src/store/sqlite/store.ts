import { statSync } from 'node:fs';
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
import { Tokens, Users } from './accounts.ts';
import { prepareChangeLog } from './change-log.ts';
import { type Connection, openConnection } from './connection.ts';
import { DatabaseFile, type StoreLog } from './database-file.ts';
import { asStoreError, isDamage, lockTimeout } from './errors.ts';
import { preparePages } from './leads-read.ts';
import { LeadWriter, preparePlaces } from './leads-write.ts';
import {
  expectedVersion,
  findFaults,
  migrate,
  prepareSchema,
  refuseForeignDatabase,
  schemaVersion,
} from './migrate.ts';
import { prepareApply } from './organisation.ts';

export type { StoreLog } from './database-file.ts';

/** A writer that is stuck must not stop the polls: after this time a poll reads without the lock. */
const POLL_LOCK_WAIT_MS = 1000;
/** Enough for the revalidations of other processes and for most writes. After it the companies are reported as busy. */
const REVALIDATION_LOCK_WAIT_MS = 20;
/** A write that does not get the lock within this time fails as unavailable, and nothing is written. */
const WRITE_LOCK_WAIT_MS = 10_000;
/** Several processes that open a new database at once create its schema one after the other. */
const OPEN_LOCK_WAIT_MS = 10_000;
const NO_COMPANIES: ReadonlySet<string> = new Set();

export interface SqliteOptions {
  readonly file: string;
  /** Apply pending migrations first (the default), or refuse a schema that is not up to date. */
  readonly migrate?: boolean;
  /** Create the database if there is none (the default), or refuse. Needs `migrate`. */
  readonly create?: boolean;
  readonly clock?: Clock;
  readonly pollLockWaitMs?: number;
  readonly writeLockWaitMs?: number;
  /** For events that the operator must know about: the file is missing, replaced or damaged. */
  readonly log?: StoreLog;
}

/** Reads the state of the file without creating or changing anything. */
export async function inspectSqlite(file: string): Promise<Inspection> {
  const expected = expectedVersion();
  if (!fileExists(file)) return { exists: false, schemaVersion: 0, expectedVersion: expected, faults: [] };
  return withConnection(file, (connection) => {
    refuseForeignDatabase(connection);
    const faults = findFaults(connection);
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
  // Opening the file would create it, perhaps as the wrong user or in the wrong folder.
  if (!(mayMigrate && create) && !fileExists(file)) throw new SchemaVersionError(0, expectedVersion());
  const settings: Settings = {
    file,
    clock: options.clock ?? systemClock,
    pollLockWaitMs: options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS,
    writeLockWaitMs: options.writeLockWaitMs ?? WRITE_LOCK_WAIT_MS,
    log,
  };
  const connection = openConnection(file);
  try {
    return await connection.retryWhileBusy(OPEN_LOCK_WAIT_MS, () => {
      prepareSchema(connection, { mayMigrate, create });
      const open = () => reopen(settings, mayMigrate);
      const current = new DatabaseFile(prepareDatabase(connection, settings), { file, open, log });
      return new SqliteStore(current, settings);
    });
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a file that has replaced the open one. Unlike at the start, an empty file is not a new installation. */
function reopen(settings: Settings, mayMigrate: boolean): PreparedDatabase {
  const connection = openConnection(settings.file);
  try {
    refuseForeignDatabase(connection);
    if (schemaVersion(connection) === 0) throw new UnusableDatabaseError('the file holds no database');
    prepareSchema(connection, { mayMigrate, create: false });
    return prepareDatabase(connection, settings);
  } catch (error) {
    connection.close();
    throw asStoreError(error);
  }
}

/** Throws where it cannot be found out: a folder that cannot be entered does not mean that there is no file. */
function fileExists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error);
  }
}

async function withConnection<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = openConnection(file);
  try {
    return await connection.retryWhileBusy(OPEN_LOCK_WAIT_MS, () => work(connection));
  } finally {
    connection.close();
  }
}

interface Settings {
  readonly file: string;
  readonly clock: Clock;
  readonly pollLockWaitMs: number;
  readonly writeLockWaitMs: number;
  readonly log: StoreLog | undefined;
}

/** Prepares all statements of a store on one connection. */
function prepareDatabase(connection: Connection, { clock }: Settings) {
  const users = new Users(connection);
  const places = preparePlaces(connection);
  const lastStamp = connection.prepare<{ last_stamp: number }>(
    'SELECT last_stamp FROM companies WHERE id = ?',
  );
  // Reads a table, because SQLite answers `SELECT 1` without reading the file.
  const ping = connection.prepare('SELECT 1 FROM companies LIMIT 1');
  const status = connection.prepare<{ engine: string; latestStamp: number }>(
    `SELECT 'SQLite ' || sqlite_version() AS engine, coalesce(max(last_stamp), 0) AS latestStamp FROM companies`,
  );
  return {
    connection,
    users,
    tokens: new Tokens(connection),
    places,
    leads: new LeadWriter(connection, places, clock),
    applyOrganisation: prepareApply(connection, users),
    readLeads: preparePages(connection),
    readChanges: prepareChangeLog(connection),
    /** A company without leads has the stamp 0. */
    readLastStamp: (companyId: string) => lastStamp.get(companyId)?.last_stamp || undefined,
    ping: () => ping.get(),
    readStatus: () => status.get(),
  };
}

type PreparedDatabase = ReturnType<typeof prepareDatabase>;
type Work<T> = (database: PreparedDatabase) => T;

class SqliteStore implements Store, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly #current: DatabaseFile<PreparedDatabase>;
  readonly #settings: Settings;
  /** The last read that found the file damaged. The store is not ready until it succeeds. */
  #failedRead: Work<unknown> | undefined;

  constructor(current: DatabaseFile<PreparedDatabase>, settings: Settings) {
    this.#current = current;
    this.#settings = settings;
  }

  async findUser(userId: string): Promise<User | undefined> {
    return this.#read(({ users }) => users.find(userId));
  }

  async isTokenRevoked(tokenId: string): Promise<boolean> {
    return this.#read(({ tokens }) => tokens.isRevoked(tokenId));
  }

  /** While another process holds the write lock, all companies are busy; accounts and changes are still returned. */
  async revalidate(
    { companies, bearers }: RevalidationRequest,
    known: string | undefined,
  ): Promise<Revalidation> {
    const { clock, pollLockWaitMs } = this.#settings;
    const readState = ({ tokens, users, readChanges }: PreparedDatabase) => ({
      readAt: clock(),
      accounts: bearers.map(({ userId, tokenId }) => ({
        isRevoked: tokenId !== undefined && tokens.isRevoked(tokenId),
        user: users.find(userId),
      })),
      ...readChanges(known),
    });
    const state = await this.#read((database): Revalidation => {
      const locked = database.connection.transactionIfFree(() => readState(database));
      if (locked) return { ...locked, busy: NO_COMPANIES };
      const unlocked = readState(database);
      const companiesOfBearers = unlocked.accounts.flatMap(({ user }) => user?.companyId ?? []);
      return { ...unlocked, busy: new Set([...companies, ...companiesOfBearers]) };
    });
    const waitMs = Math.min(REVALIDATION_LOCK_WAIT_MS, pollLockWaitMs);
    if (state.busy.size === 0 || waitMs === 0) return state;
    const locked = await this.#readLocked(waitMs, readState);
    return locked ? { ...locked.result, busy: NO_COMPANIES } : state;
  }

  async readLeads(query: PageQuery): Promise<readonly LeadRecord[]> {
    return this.#read(({ readLeads }) => readLeads(query));
  }

  /** While the write lock is held, no writer is between stamp and commit: all later leads are stamped after this read (D3). */
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
    // The stamp is read first: a lead that is committed between the two reads is in the page.
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

  async writeLeads(batch: readonly LeadInput[], options: WriteOptions = {}): Promise<WriteOutcome> {
    return this.#write(({ leads }) => leads.write(batch, options));
  }

  async findPlacementProblems(leads: readonly LeadInput[]): Promise<readonly PlacementProblem[][]> {
    return this.#read(({ places }) => leads.map((lead) => findPlacementProblems(lead, places)));
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
    this.#current.close();
  }

  #read<T>(work: Work<T>): Promise<T> {
    const { database } = this.#current;
    const { pollLockWaitMs } = this.#settings;
    return this.#recordDamage(
      work,
      database.connection.retryWhileBusy(pollLockWaitMs, () => work(database)),
    );
  }

  /** Undefined when another process held the write lock for the whole time. */
  #readLocked<T>(waitMs: number, work: Work<T>): Promise<{ readonly result: T } | undefined> {
    const { database } = this.#current;
    return this.#recordDamage(
      work,
      database.connection.tryTransaction(waitMs, () => work(database)),
    );
  }

  async #write<T>(work: (database: PreparedDatabase, rollbackWith: RollbackWith<T>) => T): Promise<T> {
    this.#current.check();
    const { database } = this.#current;
    const { connection } = database;
    const done = await connection.tryTransaction<T>(this.#settings.writeLockWaitMs, (rollbackWith) => {
      this.#current.assertNotReplaced(connection);
      return work(database, rollbackWith);
    });
    if (!done) throw lockTimeout();
    return done.result;
  }

  /** Stores a read that finds the file damaged, so that `ping` repeats it. */
  async #recordDamage<T>(work: Work<unknown>, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      if (isDamage(error)) {
        const { file, log } = this.#settings;
        if (!this.#failedRead)
          log?.error(`${error.message} (${file}): run leadtap doctor; stop Leadtap and restore a backup`);
        this.#failedRead = work;
      }
      throw error;
    }
  }
}
