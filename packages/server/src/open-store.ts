import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { inspectSqlite, migrateSqlite, openSqliteStore } from './store/sqlite/store.ts';
import type { Inspection, MigrationReport, Store } from './store/store.ts';

/** Config to a store: the only place that chooses an adapter. */
export const openStore = (config: Config, { clock = systemClock }: { clock?: Clock } = {}): Promise<Store> =>
  openSqliteStore({ file: config.database.file, migrate: config.autoMigrate, clock });

export const migrateStore = (config: Config): Promise<MigrationReport> => migrateSqlite(config.database.file);

/** What is there, without making or changing anything. */
export const inspectStore = (config: Config): Promise<Inspection> => inspectSqlite(config.database.file);
