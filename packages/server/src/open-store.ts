import { type Clock, systemClock } from './clock.ts';
import type { Config, PostgresDatabase, SqliteDatabase } from './config.ts';
import { inspectSqlite, migrateSqlite, openSqliteStore, type StoreLog } from './store/sqlite/store.ts';
import type { Inspection, MigrationReport, Store } from './store/store.ts';
import type { MoveSource, MoveTarget } from './store/transfer/port.ts';

/** Loaded when it is needed: its driver takes longer than a whole command on SQLite. */
const loadPostgres = () => import('./store/postgres/store.ts');

export interface OpenStoreOptions {
  /** For a database that has none of its own. */
  readonly clock?: Clock;
  /** Make the database if there is none (the default), or throw a SchemaVersionError that found version 0. */
  readonly create?: boolean;
  /** For faults of the database file. */
  readonly log?: StoreLog;
  /** Default: those of the adapter. */
  readonly timeouts?: StoreTimeouts;
}

export interface StoreTimeouts {
  /** How long a poll waits for a writer's lock. */
  readonly pollLockWaitMs?: number;
  /** For a connection to a database server. */
  readonly connectLimitMs?: number;
  /** For the query of a poll at a database server. */
  readonly queryLimitMs?: number;
}

/** Config to a store: the only place that chooses an adapter. */
export async function openStore(
  { database, autoMigrate: migrate }: Config,
  { clock = systemClock, create = true, log, timeouts = {} }: OpenStoreOptions = {},
): Promise<Store> {
  const { pollLockWaitMs, ...limits } = timeouts;
  const common = { migrate, create, ...(pollLockWaitMs !== undefined && { pollLockWaitMs }) };
  if (database.kind === 'sqlite')
    return openSqliteStore({ file: database.file, clock, ...common, ...(log && { log }) });
  const { openPostgresStore } = await loadPostgres();
  return openPostgresStore({
    url: database.url,
    connections: database.connections,
    ...common,
    ...limits,
  });
}

export async function migrateStore({ database }: Config): Promise<MigrationReport> {
  if (database.kind === 'sqlite') return migrateSqlite(database.file);
  return (await loadPostgres()).migratePostgres(database.url);
}

/** What is there, without making or changing anything. */
export async function inspectStore({ database }: Config, clock: Clock = systemClock): Promise<Inspection> {
  if (database.kind === 'sqlite') return inspectSqlite(database.file);
  return (await loadPostgres()).inspectPostgres(database.url, clock);
}

/** The database to be moved: nobody else can use it until it is closed. */
export async function openMoveSource({ file }: SqliteDatabase): Promise<MoveSource> {
  const { openSqliteMoveSource } = await import('./store/sqlite/transfer-source.ts');
  return openSqliteMoveSource(file);
}

/** Where it is moved to, with its schema up to date. */
export async function openMoveTarget({ url }: PostgresDatabase): Promise<MoveTarget> {
  const { openPostgresMoveTarget } = await import('./store/postgres/transfer-target.ts');
  return openPostgresMoveTarget(url);
}
