import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Clock, systemClock } from '../../clock.ts';
import { findPlacementProblems } from '../placement.ts';
import type { IssuedToken, LeadInput, LeadRecord, Organisation, User } from '../records.ts';
import {
  type AccountCounts,
  type ApplyOutcome,
  type Inspection,
  type ListedToken,
  type Look,
  type MigrationReport,
  type Page,
  type PageQuery,
  type PlacementProblem,
  type Question,
  SchemaVersionError,
  type Store,
  type StoreStatus,
  StoreUnavailableError,
  type UpdateUserOutcome,
  type UserChanges,
  type WatchedStore,
  type WriteOptions,
  type WriteOutcome,
} from '../store.ts';
import type { Undo } from '../undo.ts';
import { prepareChanges } from './changes.ts';
import { checkFiles } from './check-files.ts';
import { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';
import { fileExists } from './file-exists.ts';
import { preparePlaces } from './known-places.ts';
import { LeadWrites } from './lead-writes.ts';
import { preparePages } from './leads-read.ts';
import { expectedVersion, migrate, refuseForeignDatabase, schemaVersion } from './migrate.ts';
import { prepareApply } from './organisation.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

/** A stuck writer must not stop the polling: after this a poll answers from what is committed. */
const POLL_LOCK_WAIT_MS = 1000;
/** Looks of other processes are over at once, and so are most writes; who writes for longer is waited for poll by poll. */
const LOOK_LOCK_WAIT_MS = 20;
/** A write that cannot begin for this long fails with "unavailable"; nothing was written. */
const WRITE_LOCK_WAIT_MS = 10_000;
const NO_COMPANIES: ReadonlySet<string> = new Set();
/** Several processes that start at once on a new database make its schema one after the other. */
const OPEN_WAIT_MS = 10_000;

export interface SqliteOptions {
  readonly file: string;
  /** Bring the schema up to date first (the default), or refuse one that is not. */
  readonly migrate?: boolean;
  /** Make the database if there is none (the default), or refuse. Needs `migrate`. */
  readonly create?: boolean;
  readonly clock?: Clock;
  readonly pollLockWaitMs?: number;
  readonly writeLockWaitMs?: number;
}

function openConnection(file: string): Connection {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Made here and not by SQLite, which would let every user of the machine read it. Its log gets the same mode.
    closeSync(openSync(file, 'a', 0o600));
    return new Connection(file);
  } catch (error) {
    throw asStoreError(error);
  }
}

/** The first work on a file is tried again and again while another process is in the way. */
const firstWork = async <T>(connection: Connection, work: (connection: Connection) => T): Promise<T> =>
  granted(await connection.whenFree(OPEN_WAIT_MS, () => work(connection))).result;

/** Opens the file for this work alone. */
async function withConnection<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = openConnection(file);
  try {
    return await firstWork(connection, work);
  } finally {
    connection.close();
  }
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
  const { file, migrate: mayMigrate = true, create = true } = options;
  // Opening would make the file: as a user who is not meant to own it, or in a folder that was not meant.
  if (!(mayMigrate && create) && !fileExists(file)) throw new SchemaVersionError(0, expectedVersion());
  const connection = openConnection(file);
  try {
    return await firstWork(connection, () => {
      useSchema(connection, mayMigrate, create);
      return new SqliteStore(connection, options);
    });
  } catch (error) {
    connection.close();
    throw error;
  }
}

function useSchema(connection: Connection, mayMigrate: boolean, create: boolean): void {
  refuseForeignDatabase(connection);
  if (!create && schemaVersion(connection) === 0) throw new SchemaVersionError(0, expectedVersion());
  connection.useWriteAheadLog();
  if (mayMigrate) migrate(connection);
  const found = schemaVersion(connection);
  if (found !== expectedVersion()) throw new SchemaVersionError(found, expectedVersion());
}

class SqliteStore implements Store, WatchedStore {
  readonly watched: WatchedStore = this;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #pollLockWaitMs: number;
  readonly #writeLockWaitMs: number;
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #apply: ReturnType<typeof prepareApply>;
  readonly #leads: LeadWrites;
  readonly #readLeads: ReturnType<typeof preparePages>;
  readonly #readChanges: ReturnType<typeof prepareChanges>;
  readonly #lastStamp;
  readonly #ping;
  readonly #status;

  constructor(connection: Connection, options: SqliteOptions) {
    this.#connection = connection;
    this.#clock = options.clock ?? systemClock;
    this.#pollLockWaitMs = options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS;
    this.#writeLockWaitMs = options.writeLockWaitMs ?? WRITE_LOCK_WAIT_MS;
    this.#users = new Users(connection);
    this.#tokens = new Tokens(connection);
    this.#apply = prepareApply(connection, this.#users);
    this.#leads = new LeadWrites(connection, {
      file: options.file,
      clock: this.#clock,
      lockWaitMs: this.#writeLockWaitMs,
    });
    this.#readLeads = preparePages(connection);
    this.#readChanges = prepareChanges(connection);
    this.#lastStamp = connection.prepare<{ last_stamp: number }>(
      'SELECT last_stamp FROM companies WHERE id = ?',
    );
    // A table, not `SELECT 1`, which SQLite answers without a look at the file.
    this.#ping = connection.prepare('SELECT 1 FROM companies LIMIT 1');
    this.#status = connection.prepare<{ engine: string; latestStamp: number }>(
      `SELECT 'SQLite ' || sqlite_version() AS engine, coalesce(max(last_stamp), 0) AS latestStamp FROM companies`,
    );
  }

  async findUser(userId: string): Promise<User | undefined> {
    return this.#read(() => this.#users.find(userId));
  }

  async isTokenRevoked(tokenId: string): Promise<boolean> {
    return this.#read(() => this.#tokens.isRevoked(tokenId));
  }

  /** While another process writes for long, all companies are busy; what has changed is told all the same. */
  async look({ companies, bearers }: Question, known: string | undefined): Promise<Look> {
    const tell = () => ({
      readAt: this.#clock(),
      accounts: bearers.map(({ userId, tokenId }) => ({
        isRevoked: tokenId !== undefined && this.#tokens.isRevoked(tokenId),
        user: this.#users.find(userId),
      })),
      ...this.#readChanges(known),
    });
    const atOnce = await this.#read((): Look => {
      const held = this.#connection.unlessBusy(() => this.#connection.whileNobodyWrites(tell));
      if (held) return { ...held, busy: NO_COMPANIES };
      const told = tell();
      const theirs = told.accounts.flatMap(({ user }) => user?.companyId ?? []);
      return { ...told, busy: new Set([...companies, ...theirs]) };
    });
    const waitMs = Math.min(LOOK_LOCK_WAIT_MS, this.#pollLockWaitMs);
    if (atOnce.busy.size === 0 || waitMs === 0) return atOnce;
    const held = await this.#connection.locked(waitMs, tell);
    return held ? { ...held.result, busy: NO_COMPANIES } : atOnce;
  }

  async readLeads(query: PageQuery): Promise<readonly LeadRecord[]> {
    return this.#read(() => this.#readLeads(query));
  }

  /**
   * Reads under the write lock: while it is held, no writer of any process stands between stamp and commit,
   * so every lead still to come is stamped after this moment (D3).
   */
  async readPage(query: PageQuery): Promise<Page> {
    const page = await this.#connection.locked(this.#pollLockWaitMs, () => ({
      leads: this.#readLeads(query),
      readAt: this.#clock(),
      locked: true,
    }));
    return page?.result ?? this.#read(() => this.#readUnlocked(query));
  }

  /** The stamp is read before the leads: what is committed in between is in the page all the same. */
  #readUnlocked(query: PageQuery): Page {
    const lastStamp = this.#lastStamp.get(query.scope.companyId)?.last_stamp ?? 0;
    const readAt = Math.min(this.#clock(), lastStamp);
    return { leads: this.#readLeads(query), readAt, locked: false };
  }

  async applyOrganisation(organisation: Organisation): Promise<ApplyOutcome> {
    return this.#write((undo: Undo<ApplyOutcome>) => this.#apply(organisation, undo));
  }

  async listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]> {
    return this.#read(() => this.#users.list(afterId, limit));
  }

  async updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome> {
    return this.#write(() => this.#users.update(userId, changes));
  }

  async removeUser(userId: string): Promise<boolean> {
    return this.#write(() => this.#users.remove(userId));
  }

  async recordTokens(tokens: readonly IssuedToken[]): Promise<void> {
    return this.#write(() => this.#tokens.record(tokens));
  }

  async listTokens(userId: string): Promise<readonly ListedToken[]> {
    return this.#read(() => this.#tokens.list(userId));
  }

  async findToken(tokenId: string): Promise<IssuedToken | undefined> {
    return this.#read(() => this.#tokens.find(tokenId));
  }

  async revokeToken(tokenId: string): Promise<boolean> {
    return this.#write(() => this.#tokens.revoke(tokenId, this.#clock()));
  }

  async writeLeads(leads: readonly LeadInput[], options: WriteOptions = {}): Promise<WriteOutcome> {
    return granted(await this.#leads.write(leads, options));
  }

  async findPlacementProblems(leads: readonly LeadInput[]): Promise<readonly PlacementProblem[][]> {
    return this.#read(() => {
      const places = preparePlaces(this.#connection)();
      return leads.map((lead) => findPlacementProblems(lead, places));
    });
  }

  async countAccounts(): Promise<AccountCounts> {
    return this.#read(() => this.#users.countAccounts());
  }

  async ping(): Promise<void> {
    await this.#read(() => this.#ping.get());
  }

  async status(): Promise<StoreStatus> {
    const row = await this.#read(() => this.#status.get());
    return { engine: row?.engine ?? 'SQLite', latestStamp: row?.latestStamp ?? 0, now: this.#clock() };
  }

  async close(): Promise<void> {
    await this.#leads.close();
    this.#connection.close();
  }

  async #read<T>(work: () => T): Promise<T> {
    return granted(await this.#connection.whenFree(this.#pollLockWaitMs, work)).result;
  }

  async #write<T>(work: (undo: Undo<T>) => T): Promise<T> {
    return granted(await this.#connection.locked(this.#writeLockWaitMs, work)).result;
  }
}

function granted<T extends object>(outcome: T | undefined): T {
  if (outcome) return outcome;
  throw new StoreUnavailableError('another program holds the lock of the database');
}
