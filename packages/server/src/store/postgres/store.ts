import { type Clock, systemClock } from '../../clock.ts';
import { findPlacementProblems } from '../placement.ts';
import type { IssuedToken, LeadInput, LeadRecord, Organisation, User } from '../records.ts';
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
  type UpdateUserOutcome,
  type UserChanges,
  type WriteOptions,
  type WriteOutcome,
} from '../store.ts';
import { ChangeLogReader } from './change-log.ts';
import { Database, LIMITS } from './connection.ts';
import { KnownPlaces } from './known-places.ts';
import { Pages } from './leads-read.ts';
import { writeLeads } from './leads-write.ts';
import { expectedVersion, migrate, refuseOldServer, schemaVersion } from './migrate.ts';
import { applyOrganisation } from './organisation.ts';
import { readServerFacts } from './server-facts.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

/** A stuck writer must not stop the polling: after this a poll answers from what is committed. */
const POLL_LOCK_WAIT_MS = 1000;
/** Of a count of all users: it may be long, since no request waits for it. */
const COUNT_LIMIT_MS = 60_000;
const CONNECTIONS = 10;

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** How many connections this store holds at most. Default: 10. */
  readonly connections?: number;
  /** Bring the schema up to date first (the default), or refuse one that is not. */
  readonly migrate?: boolean;
  /** Make the schema if there is none (the default), or refuse. Needs `migrate`. */
  readonly create?: boolean;
  readonly pollLockWaitMs?: number;
  readonly connectLimitMs?: number;
  /** For a poll's question. */
  readonly queryLimitMs?: number;
  /** Between two statements of a write. When the connection is lost there, its locks are released after this. */
  readonly idleLimitMs?: number;
}

/** Opens the database for this work alone. */
async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = new Database(url, 1);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** What stands in the database, without making or changing anything. */
export const inspectPostgres = (url: string, clock: Clock = systemClock): Promise<Inspection> =>
  withDatabase(url, async (database) => {
    await refuseOldServer(database);
    const version = await schemaVersion(database);
    const server = await readServerFacts(database, clock);
    return {
      exists: version > 0,
      schemaVersion: version,
      expectedVersion: expectedVersion(),
      faults: [],
      server,
    };
  });

export const migratePostgres = (url: string): Promise<MigrationReport> => withDatabase(url, migrate);

export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const database = new Database(options.url, options.connections ?? CONNECTIONS, {
    connectMs: options.connectLimitMs ?? LIMITS.connectMs,
    queryMs: options.queryLimitMs ?? LIMITS.queryMs,
    idleMs: options.idleLimitMs ?? LIMITS.idleMs,
  });
  try {
    await useSchema(database, options.migrate ?? true, options.create ?? true);
    return new PostgresStore(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A schema that is up to date needs no lock, so that any number of instances start side by side. */
async function useSchema(database: Database, mayMigrate: boolean, create: boolean): Promise<void> {
  await refuseOldServer(database);
  const expected = expectedVersion();
  const found = await schemaVersion(database);
  if (found === expected) return;
  const isAllowed = mayMigrate && found < expected && (create || found > 0);
  if (!isAllowed) throw new SchemaVersionError(found, expected);
  await migrate(database);
}

class PostgresStore implements Store, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly #database: Database;
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #pages: Pages;
  readonly #lookout: ChangeLogReader;

  constructor(database: Database, options: PostgresOptions) {
    this.#database = database;
    this.#users = new Users(database);
    this.#tokens = new Tokens(database);
    this.#pages = new Pages(database, options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS);
    this.#lookout = new ChangeLogReader(database);
  }

  revalidate(question: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    return this.#lookout.revalidate(question, known);
  }

  readLeads(query: PageQuery, signal?: AbortSignal): Promise<readonly LeadRecord[]> {
    return this.#pages.readLeads(query, { signal });
  }

  readPage(query: PageQuery, signal?: AbortSignal): Promise<Page> {
    return this.#pages.readPage(query, { signal });
  }

  findUser(userId: string): Promise<User | undefined> {
    return this.#users.find(userId);
  }

  listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]> {
    return this.#users.list(afterId, limit);
  }

  updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome> {
    return this.#users.update(userId, changes);
  }

  removeUser(userId: string): Promise<boolean> {
    return this.#users.remove(userId);
  }

  isTokenRevoked(tokenId: string): Promise<boolean> {
    return this.#tokens.isRevoked(tokenId);
  }

  recordTokens(tokens: readonly IssuedToken[]): Promise<void> {
    return this.#tokens.record(tokens);
  }

  listTokens(userId: string): Promise<readonly ListedToken[]> {
    return this.#tokens.list(userId);
  }

  findToken(tokenId: string): Promise<IssuedToken | undefined> {
    return this.#tokens.find(tokenId);
  }

  revokeToken(tokenId: string): Promise<boolean> {
    return this.#tokens.revoke(tokenId);
  }

  applyOrganisation(organisation: Organisation): Promise<ApplyOutcome> {
    return this.#database.transaction<ApplyOutcome>((session, rollbackWith) =>
      applyOrganisation(session, organisation, rollbackWith),
    );
  }

  writeLeads(leads: readonly LeadInput[], options: WriteOptions = {}): Promise<WriteOutcome> {
    return this.#database.transaction((session) => writeLeads(session, leads, options));
  }

  async findPlacementProblems(leads: readonly LeadInput[]): Promise<readonly PlacementProblem[][]> {
    const places = await KnownPlaces.read(this.#database, leads);
    return leads.map((lead) => findPlacementProblems(lead, places));
  }

  /** A poll for nothing, not `SELECT 1`: a standby answers that, and no polls. */
  async ping(): Promise<void> {
    await this.#pages.check();
  }

  async status(): Promise<StoreStatus> {
    const [row] = await this.#database.query<{ version: string; latest: number; now: number }>(
      `SELECT current_setting('server_version') AS version, leadtap.clock_ms() AS now,
              coalesce(leadtap.to_ms(max(leadtap.last_stamp(c.id))), 0) AS latest FROM leadtap.companies AS c`,
    );
    return { engine: `PostgreSQL ${row?.version}`, latestStamp: row?.latest ?? 0, now: row?.now ?? 0 };
  }

  /** In a transaction, because a million users take longer to count than a single query may take. */
  async countAccounts(signal?: AbortSignal): Promise<AccountCounts> {
    const [row] = await this.#database.query<AccountCounts>(
      'SELECT (SELECT count(*) FROM leadtap.companies) AS companies, (SELECT count(*) FROM leadtap.users) AS users',
      [],
      { signal, limitMs: COUNT_LIMIT_MS },
    );
    return row ?? { companies: 0, users: 0 };
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
