/** The only place that distinguishes store kinds: everything that differs between the engines is in `Engine`. */

import {
  type Config,
  type Database,
  describeDatabase,
  type PostgresDatabase,
  type SqliteDatabase,
} from './config.ts';
import type { Clock } from './lib/clock.ts';
import { postgresHints } from './store/postgres/hints.ts';
import { LONG_TIMEOUTS } from './store/postgres/timeouts.ts';
import { readBackupTime, writeBackupTime } from './store/sqlite/backup-record.ts';
import { sqliteHint } from './store/sqlite/hints.ts';
import { inspectSqlite, migrateSqlite, openSqliteStore, type StoreLog } from './store/sqlite/store.ts';
import type { BackupReport, Inspection, MigrationReport, SchemaOptions, Store } from './store/store.ts';
import type { MoveSource, MoveTarget } from './store/transfer/transfer.ts';

export interface OpenStoreOptions extends Omit<SchemaOptions, 'migrate'> {
  /** Only for SQLite: PostgreSQL stamps leads with the clock of its server. */
  readonly clock?: Clock;
  /** For faults of the SQLite file. */
  readonly log?: StoreLog;
  /** The SQLite file was replaced. The store stays closed. */
  readonly onReplaced?: () => void;
  /** Stops the opening at a database server that does not answer. */
  readonly signal?: AbortSignal;
  /** Default: those of the adapter. */
  readonly timeouts?: StoreTimeouts;
}

export interface StoreTimeouts {
  /** How long a poll waits for the lock of a writer. */
  readonly pollLockWaitMs?: number;
  /** How long `leads erase` waits for other programs before it gives up cleaning an SQLite file. */
  readonly vacuumWaitMs?: number;
  /** For a connection to a database server. */
  readonly connectLimitMs?: number;
  /** For the query of a poll at a database server. */
  readonly queryLimitMs?: number;
  /** For a statement that writes the leads of one request at a database server, after it has the lock. */
  readonly writeLimitMs?: number;
}

/** Those of a service are short, so that a poll is answered soon. A command has time. */
export const COMMAND_TIMEOUTS: StoreTimeouts = LONG_TIMEOUTS;

/** One configured database, with what its engine can do and what operators read about it. */
export interface Engine {
  open(options: OpenStoreOptions & { readonly migrate: boolean }): Promise<Store>;
  /** The signal ends the connections to a database server. What was not committed has no effect. */
  migrate(signal?: AbortSignal): Promise<MigrationReport>;
  /** Reads the state of the database without creating or changing anything. */
  inspect(clock: Clock, signal?: AbortSignal): Promise<Inspection>;
  /** What to do about an error of the store, a sentence each. The setting is where the address was given: a variable or a flag. */
  hints(error: Error, setting: string): readonly string[];
  /** How to fix a schema that is too old. */
  readonly oldSchemaFix: string;
  /** What to say when the database or its schema does not exist, and what to do. */
  readonly missing: { readonly message: string; readonly fix: readonly string[] };
  /** The database is a file on this machine. */
  readonly file?: string;
  /** The database is on a server, so instances on several machines can use it. The URL may contain a password. */
  readonly server?: { readonly url: string };
  /** Copies the database to a new file while it is in use. Absent: the engine has its own tool. */
  backup?(target: string, signal: AbortSignal): Promise<BackupReport>;
  /** Of `backup`, for the status page. */
  readonly backupTimes?: BackupTimes;
  /** Absent: the database cannot be moved to another engine. */
  openMoveSource?(): Promise<MoveSource>;
  /** Absent: no database can be moved to this engine. */
  openMoveTarget?(signal: AbortSignal): Promise<MoveTarget>;
}

export interface BackupTimes {
  /** Undefined if no backup is known. */
  readLast(): Promise<number | undefined>;
  writeLast(at: number): Promise<void>;
}

export function engineOf(database: Database): Engine {
  switch (database.kind) {
    case 'sqlite':
      return sqliteEngine(database);
    case 'postgres':
      return postgresEngine(database);
  }
}

const sqliteEngine = ({ file }: SqliteDatabase): Engine => ({
  open: ({ timeouts, ...options }) => openSqliteStore({ file, ...options, ...timeouts }),
  migrate: () => migrateSqlite(file),
  inspect: () => inspectSqlite(file),
  hints: (error, setting) => [sqliteHint(error, file, setting)],
  oldSchemaFix: 'Run `leadtap migrate`, or set LEADTAP_AUTO_MIGRATE=true.',
  missing: {
    message: `there is no Leadtap database at ${file}`,
    fix: [
      'If you expected one, run this command in the folder of the installation, or set LEADTAP_DATABASE_URL.',
      'To create a new one here, run `leadtap migrate`.',
    ],
  },
  file,
  backup: async (target, signal) => {
    const { backupSqlite } = await import('./store/sqlite/backup.ts');
    return backupSqlite(file, target, signal);
  },
  backupTimes: {
    readLast: () => readBackupTime(file),
    writeLast: (at) => writeBackupTime(file, at),
  },
  openMoveSource: async () => {
    const { openSqliteMoveSource } = await import('./store/sqlite/transfer-source.ts');
    return openSqliteMoveSource(file);
  },
});

/** Loaded on first use: the driver takes longer to load than a whole command on SQLite. */
const loadPostgres = () => import('./store/postgres/store.ts');

function postgresEngine(database: PostgresDatabase): Engine {
  const { url, connections } = database;
  return {
    open: async ({ timeouts, ...options }) =>
      (await loadPostgres()).openPostgresStore({ url, connections, ...options, ...timeouts }),
    migrate: async (signal) => (await loadPostgres()).migratePostgres(url, { signal }),
    inspect: async (clock, signal) => (await loadPostgres()).inspectPostgres(url, clock, signal),
    hints: (error, setting) => postgresHints(error, url, setting),
    oldSchemaFix:
      'Run `leadtap migrate` with the role that owns the schema, or set LEADTAP_AUTO_MIGRATE=true.',
    missing: {
      message: `there is no schema leadtap in ${describeDatabase(database)}`,
      fix: [
        'If you expected one, correct LEADTAP_DATABASE_URL.',
        'To create a new one there, run `leadtap migrate` with a role that may create it.',
      ],
    },
    server: database,
    openMoveTarget: async (signal) => {
      const { openPostgresMoveTarget } = await import('./store/postgres/transfer-target.ts');
      return openPostgresMoveTarget(url, signal);
    },
  };
}

export const openStore = (
  { database, autoMigrate: migrate }: Config,
  options: OpenStoreOptions = {},
): Promise<Store> => engineOf(database).open({ ...options, migrate });

export const migrateStore = ({ database }: Config, signal: AbortSignal): Promise<MigrationReport> =>
  engineOf(database).migrate(signal);
