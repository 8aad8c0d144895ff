import { statSync } from 'node:fs';
import { findLeadProblems, planLead } from '../../leads/placement.ts';
import type { RenderedLead } from '../../leads/render.ts';
import { findHistory } from '../../leads/sql.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { mapInSlices } from '../../lib/event-loop.ts';
import type { ChangeTrackingStore } from '../../poll/store.ts';
import { SchemaVersionError } from '../../sql/errors.ts';
import type { SqlDatabase } from '../../sql/sql.ts';
import { createSqlStores } from '../sql-stores.ts';
import type { Inspection, MigrationReport, SchemaOptions, Store } from '../store.ts';
import { prepareFindAccount } from './accounts.ts';
import { prepareChangeLog } from './change-log.ts';
import { type Connection, DatabaseFile, openConnection, type SqlValue, type StoreLog } from './connection.ts';
import { asStoreError, isBusy, isDamage, isLockTimeout } from './errors.ts';
import { decodeLead, PAGE_COLUMNS, RENDERED_COLUMNS } from './lead-columns.ts';
import { preparePages } from './leads-read.ts';
import { encodeLeads, LeadWriter } from './leads-write.ts';
import { expectedVersion, findFaults, migrate, readPlan, useSchema } from './migrate.ts';
import { ReadCache } from './read-cache.ts';
import { prepareTasks, SQLITE } from './sql.ts';
import { vacuum } from './vacuum.ts';
import { WriteQueue } from './write-queue.ts';

export type { StoreLog } from './connection.ts';

/** A writer that is stuck must not stop the polls: after this time a poll reads without the lock. */
const POLL_LOCK_WAIT_MS = 1000;
/** Enough for the revalidations of other processes and for most writes. After it the companies are reported as busy. */
const REVALIDATION_LOCK_WAIT_MS = 20;
/** A write that does not get the lock within this time fails as unavailable, and nothing is written. */
const WRITE_LOCK_WAIT_MS = 10_000;
/** What is tried again soon, such as the records of polls, for which lists wait. */
const SHORT_LOCK_WAIT_MS = 1000;
/** Several processes that open a new database at once create its schema one after the other. */
const OPEN_LOCK_WAIT_MS = 10_000;
/** After `leads erase`: for the write lock, and until no program reads the write-ahead log. */
const VACUUM_WAIT_MS = 10_000;
const NO_COMPANIES: ReadonlySet<string> = new Set();

export interface SqliteOptions extends SchemaOptions {
  readonly file: string;
  readonly clock?: Clock;
  readonly pollLockWaitMs?: number;
  readonly writeLockWaitMs?: number;
  readonly vacuumWaitMs?: number;
  /** For events that the operator must know about: the file is missing, replaced or damaged. */
  readonly log?: StoreLog;
  /** Another file is at the path now. The store stays closed: open a new one, or start the process again. */
  readonly onReplaced?: () => void;
}

/** Reads the state of the file without creating or changing anything. */
export async function inspectSqlite(file: string): Promise<Inspection> {
  if (!fileExists(file))
    return { exists: false, schemaVersion: 0, expectedVersion: expectedVersion(), faults: [] };
  return withConnection(file, (connection) => {
    const { from, to } = readPlan(connection);
    return { exists: true, schemaVersion: from, expectedVersion: to, faults: findFaults(connection) };
  });
}

export async function migrateSqlite(file: string): Promise<MigrationReport> {
  return withConnection(file, (connection) => {
    // Before the file is changed.
    readPlan(connection);
    connection.useWriteAheadLog();
    return migrate(connection);
  });
}

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { file, clock = systemClock, migrate: mayMigrate = true, create = true } = options;
  // Opening the file would create it, perhaps as the wrong user or in the wrong folder.
  if ((!create || !mayMigrate) && !fileExists(file)) throw new SchemaVersionError(0, expectedVersion());
  const connection = openConnection(file);
  try {
    const database = await connection.retryWhileBusy(OPEN_LOCK_WAIT_MS, () => {
      const report = useSchema(connection, options);
      if (report && report.applied.length > 0) options.onMigrated?.(report);
      return prepareDatabase(connection, clock);
    });
    return createStore(new DatabaseFile(database, options), options);
  } catch (error) {
    connection.close();
    throw error;
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

/** Prepares all statements of a store on one connection. */
function prepareDatabase(connection: Connection, clock: Clock) {
  const cache = new ReadCache(connection);
  const findAccount = prepareFindAccount(connection);
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
    findAccount,
    leads: new LeadWriter(connection, cache, clock),
    readRows: preparePages<Record<string, SqlValue>>(connection, PAGE_COLUMNS),
    readRendered: preparePages<RenderedLead>(connection, RENDERED_COLUMNS),
    readChanges: prepareChangeLog(connection),
    runTask: prepareTasks(connection, clock),
    clearCache: () => cache.clear(),
    /** A company without leads has the stamp 0. */
    readLastStamp: (companyId: string) => lastStamp.get(companyId)?.last_stamp || undefined,
    ping: () => ping.get(),
    readStatus: () => status.get(),
  };
}

type PreparedDatabase = ReturnType<typeof prepareDatabase>;
type Work<T> = (database: PreparedDatabase) => T;

function createStore(current: DatabaseFile<PreparedDatabase>, options: SqliteOptions): Store {
  const { file, log, clock = systemClock } = options;
  const { pollLockWaitMs = POLL_LOCK_WAIT_MS, writeLockWaitMs = WRITE_LOCK_WAIT_MS } = options;
  /** The last read that found the file damaged. The store is not ready until it succeeds. */
  let failedRead: Work<unknown> | undefined;

  async function read<T>(work: Work<T>, waitMs = pollLockWaitMs): Promise<T> {
    const { database } = current;
    try {
      return await database.connection.retryWhileBusy(waitMs, () => work(database));
    } catch (error) {
      if (isDamage(error)) {
        if (!failedRead)
          log?.error(`${error.message} (${file}): run leadtap doctor; stop Leadtap and restore a backup`);
        failedRead = work;
      }
      throw error;
    }
  }

  /** Undefined when another process held the write lock for the whole time. */
  async function readLocked<T>(work: Work<T>, waitMs: number): Promise<T | undefined> {
    try {
      return await read((database) => database.connection.transaction(() => work(database)), waitMs);
    } catch (error) {
      if (isLockTimeout(error)) return undefined;
      throw error;
    }
  }

  async function write<T>(work: Work<T>, waitMs = writeLockWaitMs): Promise<T> {
    current.check();
    const { database } = current;
    const { connection } = database;
    const transaction = () => {
      current.assertNotReplaced(connection);
      return work(database);
    };
    return connection.retryWhileBusy(waitMs, () => connection.transaction(transaction));
  }

  const writeQueue = new WriteQueue(write);

  const sql: SqlDatabase = {
    dialect: SQLITE,
    read: (task) => read(({ runTask }) => runTask(task())),
    write: (task, { timeout } = {}) =>
      write(
        ({ runTask, clearCache }) => {
          clearCache();
          return runTask(task());
        },
        timeout === 'short' ? Math.min(SHORT_LOCK_WAIT_MS, writeLockWaitMs) : writeLockWaitMs,
      ),
  };

  const changeTracking: ChangeTrackingStore = {
    /** While another process holds the write lock, all companies are busy; accounts and changes are still returned. */
    async revalidate({ companies, tokens }, known) {
      const readState = ({ findAccount, readChanges }: PreparedDatabase) => ({
        readAt: clock(),
        accounts: tokens.map(findAccount),
        ...readChanges(known),
      });
      // Without a company there is no lock to take: the changes alone are read.
      if (companies.length === 0 && tokens.length === 0)
        return read((database) => ({ busy: NO_COMPANIES, ...readState(database) }));
      const deadline = performance.now() + Math.min(REVALIDATION_LOCK_WAIT_MS, pollLockWaitMs);
      return read((database) => {
        try {
          return { busy: NO_COMPANIES, ...database.connection.transaction(() => readState(database)) };
        } catch (error) {
          if (!isBusy(error) || performance.now() < deadline) throw error;
          const unlocked = readState(database);
          const companiesOfBearers = unlocked.accounts.flatMap(({ user }) => user?.companyId ?? []);
          return { ...unlocked, busy: new Set([...companies, ...companiesOfBearers]) };
        }
      });
    },

    readLeads: (query) => read(({ readRendered }) => readRendered(query)),
    findHistory: (companyId, times) => sql.read(() => findHistory(companyId, times)),
  };

  return {
    changeTracking,

    /** While the write lock is held, no writer is between stamp and commit: all later leads are stamped after this read (D3). */
    async readPage(query) {
      const { companyId } = query.scope;
      const page = await readLocked(
        ({ readRows, readLastStamp }) => ({
          leads: readRows(query).map(decodeLead),
          readAt: clock(),
          locked: true,
          lastStamp: readLastStamp(companyId),
        }),
        pollLockWaitMs,
      );
      if (page) return page;
      // The stamp is read first: a lead that is committed between the two reads is in the page.
      return read(({ readRows, readLastStamp }) => {
        const lastStamp = readLastStamp(companyId);
        const readAt = Math.min(clock(), lastStamp ?? 0);
        return { leads: readRows(query).map(decodeLead), readAt, locked: false, lastStamp };
      });
    },

    ...createSqlStores(sql, decodeLead, (full = true) => {
      const { connection } = current.database;
      return vacuum(connection, file, { full, waitMs: options.vacuumWaitMs ?? VACUUM_WAIT_MS });
    }),

    async writeLeads(batch, writeOptions = {}) {
      const encoded = await encodeLeads(batch);
      return write(({ leads }) => leads.write(encoded, writeOptions));
    },
    writeAllLeads: (leads, scope, sender, idempotency) =>
      writeQueue.enqueue({ leads, scope, sender, idempotency }),
    findPlacementProblems: (batch, writeOptions = {}) =>
      mapInSlices(
        batch,
        (lead) => read(({ leads }) => findLeadProblems(lead, leads.lookup, writeOptions)),
        batch[0]?.companyId,
      ),
    planLeads: (batch, writeOptions = {}) =>
      read(({ leads: { lookup } }) => batch.map((lead) => planLead(lead, lookup, writeOptions))),

    async ping() {
      current.check();
      await read((database) => database.ping());
      const failed = failedRead;
      if (!failed) return;
      await read(failed);
      if (failedRead === failed) failedRead = undefined;
    },

    async status() {
      const { engine = 'SQLite', latestStamp = 0 } = (await read(({ readStatus }) => readStatus())) ?? {};
      return { engine, latestStamp, now: clock() };
    },

    async readSize() {
      return [file, `${file}-wal`].reduce(
        (bytes, path) => bytes + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
        0,
      );
    },

    async close() {
      current.close();
    },
  };
}
