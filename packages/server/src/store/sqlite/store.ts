import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Clock, systemClock } from '../../clock.ts';
import type { IssuedToken, LeadInput, Organisation, User } from '../records.ts';
import {
  type ApplyOutcome,
  type ListedToken,
  type Page,
  type PageQuery,
  SchemaVersionError,
  type Store,
  type StoreStatus,
  StoreUnavailableError,
  type UpdateUserOutcome,
  type UserChanges,
  type WriteOptions,
  type WriteOutcome,
} from '../store.ts';
import { type MakeId, uuidV7 } from '../uuid.ts';
import { checkFiles } from './check-files.ts';
import { Connection, type Undo } from './connection.ts';
import { asStoreError } from './errors.ts';
import { preparePages } from './leads-read.ts';
import { LeadWriter } from './leads-write.ts';
import {
  expectedVersion,
  type MigrationReport,
  migrate,
  refuseForeignDatabase,
  schemaVersion,
} from './migrate.ts';
import { OrganisationWriter } from './organisation.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

/** A stuck writer must not stop the polling: after this a poll answers from what is committed. */
const POLL_LOCK_WAIT_MS = 1000;
/** A write that cannot begin for this long fails with "unavailable"; nothing was written. */
const WRITE_LOCK_WAIT_MS = 10_000;
/** Several processes that start at once on a new database make its schema one after the other. */
const OPEN_WAIT_MS = 10_000;

export interface SqliteOptions {
  readonly file: string;
  /** Bring the schema up to date first (the default), or refuse one that is not. */
  readonly migrate?: boolean;
  readonly clock?: Clock;
  readonly makeId?: MakeId;
  readonly pollLockWaitMs?: number;
  readonly writeLockWaitMs?: number;
}

export interface Inspection {
  readonly exists: boolean;
  readonly schemaVersion: number;
  readonly expectedVersion: number;
  readonly faults: readonly string[];
}

/** Opens the file and does the first work on it, again and again while another process is in the way. */
async function open<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  let connection: Connection | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const opened = new Connection(file);
    connection = opened;
    return granted(await opened.whenFree(OPEN_WAIT_MS, () => work(opened)));
  } catch (error) {
    connection?.close();
    throw asStoreError(error);
  }
}

/** What stands in the file, without making or changing anything. */
export async function inspectSqlite(file: string): Promise<Inspection> {
  const expected = expectedVersion();
  if (!existsSync(file)) return { exists: false, schemaVersion: 0, expectedVersion: expected, faults: [] };
  return open(file, (connection) => {
    refuseForeignDatabase(connection);
    const faults = checkFiles(connection);
    const found = schemaVersion(connection);
    connection.close();
    return { exists: true, schemaVersion: found, expectedVersion: expected, faults };
  });
}

export async function migrateSqlite(file: string): Promise<MigrationReport> {
  return open(file, (connection) => {
    refuseForeignDatabase(connection);
    connection.useWriteAheadLog();
    const report = migrate(connection);
    connection.close();
    return report;
  });
}

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  return open(options.file, (connection) => {
    refuseForeignDatabase(connection);
    connection.useWriteAheadLog();
    if (options.migrate ?? true) migrate(connection);
    const found = schemaVersion(connection);
    if (found !== expectedVersion()) throw new SchemaVersionError(found, expectedVersion());
    return new SqliteStore(connection, options);
  });
}

class SqliteStore implements Store {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #pollLockWaitMs: number;
  readonly #writeLockWaitMs: number;
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #organisation: OrganisationWriter;
  readonly #leads: LeadWriter;
  readonly #readLeads: ReturnType<typeof preparePages>;
  readonly #lastStamp;
  readonly #status;

  constructor(connection: Connection, options: SqliteOptions) {
    this.#connection = connection;
    this.#clock = options.clock ?? systemClock;
    this.#pollLockWaitMs = options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS;
    this.#writeLockWaitMs = options.writeLockWaitMs ?? WRITE_LOCK_WAIT_MS;
    this.#users = new Users(connection);
    this.#tokens = new Tokens(connection);
    this.#organisation = new OrganisationWriter(connection, this.#users);
    this.#leads = new LeadWriter(connection, this.#clock, options.makeId ?? uuidV7);
    this.#readLeads = preparePages(connection);
    this.#lastStamp = connection.prepare<{ last_stamp: number }>(
      'SELECT last_stamp FROM companies WHERE id = ?',
    );
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
    return this.#write((undo: Undo<ApplyOutcome>) => this.#organisation.apply(organisation, undo));
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
    return this.#write((undo: Undo<WriteOutcome>) => this.#leads.write(leads, options, undo));
  }

  async status(): Promise<StoreStatus> {
    return this.#read(() => {
      const { engine, latestStamp } = this.#status.get() ?? { engine: 'SQLite', latestStamp: 0 };
      return { engine, latestStamp, schemaVersion: schemaVersion(this.#connection) };
    });
  }

  async verify(): Promise<readonly string[]> {
    return this.#read(() => checkFiles(this.#connection));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  async #read<T>(work: () => T): Promise<T> {
    return granted(await this.#connection.whenFree(this.#pollLockWaitMs, work));
  }

  async #write<T>(work: (undo: Undo<T>) => T): Promise<T> {
    return granted(await this.#connection.locked(this.#writeLockWaitMs, work));
  }
}

function granted<T>(outcome: { readonly result: T } | undefined): T {
  if (outcome) return outcome.result;
  throw new StoreUnavailableError('another program holds the lock of the database');
}
