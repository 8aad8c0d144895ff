/** The only place that distinguishes store kinds: everything that differs between the engines is in `Engine`. */
import { type Clock, systemClock } from './clock.ts';
import type { Config, Database, PostgresDatabase, SqliteDatabase } from './config.ts';
import { resultCode } from './store/sqlite/errors.ts';
import { inspectSqlite, migrateSqlite, openSqliteStore, type StoreLog } from './store/sqlite/store.ts';
import type { Inspection, MigrationReport, Store } from './store/store.ts';
import type { MoveSource, MoveTarget } from './store/transfer/port.ts';
import { innermostCode } from './system-error.ts';

export interface OpenStoreOptions {
  /** Only for SQLite: PostgreSQL stamps leads with the clock of its server. */
  readonly clock?: Clock;
  /** Create the database if there is none (the default), or throw a `SchemaVersionError` that found version 0. */
  readonly create?: boolean;
  /** For faults of the SQLite file. */
  readonly log?: StoreLog;
  /** Default: those of the adapter. */
  readonly timeouts?: StoreTimeouts;
}

export interface StoreTimeouts {
  /** How long a poll waits for the lock of a writer. */
  readonly pollLockWaitMs?: number;
  /** For a connection to a database server. */
  readonly connectLimitMs?: number;
  /** For the query of a poll at a database server. */
  readonly queryLimitMs?: number;
}

/** One configured database, with what its engine can do and what operators read about it. */
export interface Engine {
  /** Instances on several machines can use the database. */
  readonly isShared: boolean;
  open(options: OpenStoreOptions & { readonly migrate: boolean }): Promise<Store>;
  migrate(): Promise<MigrationReport>;
  /** Reads the state of the database without creating or changing anything. */
  inspect(clock: Clock): Promise<Inspection>;
  /** Selects the hint for an error of the store: a code of the system or of the engine. */
  errorCode(error: Error): string | undefined;
  /** How to fix a schema that is too old. */
  readonly oldSchemaFix: string;
  /** What to say when there is no database, and how to fix it. The place comes from `describeDatabase`. */
  missing(place: string): { readonly message: string; readonly fixes: readonly string[] };
  /** Absent: the database cannot be moved to another engine. */
  openMoveSource?(): Promise<MoveSource>;
  /** Absent: no database can be moved to this engine. */
  openMoveTarget?(): Promise<MoveTarget>;
}

export const engineOf = (database: Database): Engine =>
  database.kind === 'sqlite' ? sqliteEngine(database) : postgresEngine(database);

const sqliteEngine = ({ file }: SqliteDatabase): Engine => ({
  isShared: false,
  open: ({ timeouts: { pollLockWaitMs } = {}, ...options }) =>
    openSqliteStore({ file, ...options, ...(pollLockWaitMs !== undefined && { pollLockWaitMs }) }),
  migrate: () => migrateSqlite(file),
  inspect: () => inspectSqlite(file),
  errorCode: (error) => innermostCode(error) ?? resultCode(error.cause)?.toString(),
  oldSchemaFix: 'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.',
  missing: (place) => ({
    message: `there is no Leadtap database at ${place}`,
    fixes: [
      'If there should be one, run this in the folder of the installation, or set LEADTAP_DATABASE_URL.',
      'To make a new one here, run `leadtap migrate`.',
    ],
  }),
  openMoveSource: async () => {
    const { openSqliteMoveSource } = await import('./store/sqlite/transfer-source.ts');
    return openSqliteMoveSource(file);
  },
});

/** Loaded on first use: the driver takes longer to load than a whole command on SQLite. */
const loadPostgres = () => import('./store/postgres/store.ts');

const postgresEngine = ({ url, connections }: PostgresDatabase): Engine => ({
  isShared: true,
  open: async ({ migrate, create, timeouts }) => {
    const { openPostgresStore } = await loadPostgres();
    return openPostgresStore({
      url,
      connections,
      migrate,
      ...(create !== undefined && { create }),
      ...timeouts,
    });
  },
  migrate: async () => (await loadPostgres()).migratePostgres(url),
  inspect: async (clock) => (await loadPostgres()).inspectPostgres(url, clock),
  errorCode: innermostCode,
  oldSchemaFix: 'Run `leadtap migrate` with the role that owns the schema, or set LEADTAP_AUTO_MIGRATE=true.',
  missing: (place) => ({
    message: `there is no schema leadtap in ${place}`,
    fixes: [
      'If there should be one, correct LEADTAP_DATABASE_URL.',
      'To make a new one there, run `leadtap migrate` with a role that may create it.',
    ],
  }),
  openMoveTarget: async () => {
    const { openPostgresMoveTarget } = await import('./store/postgres/transfer-target.ts');
    return openPostgresMoveTarget(url);
  },
});

export const openStore = (
  { database, autoMigrate: migrate }: Config,
  options: OpenStoreOptions = {},
): Promise<Store> => engineOf(database).open({ ...options, migrate });

export const migrateStore = ({ database }: Config): Promise<MigrationReport> => engineOf(database).migrate();

export const inspectStore = ({ database }: Config, clock: Clock = systemClock): Promise<Inspection> =>
  engineOf(database).inspect(clock);
