import { toLeadRecord } from '../../leads/row.ts';
import { findHistory } from '../../leads/sql.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { query } from '../../sql/sql.ts';
import { createSqlStores } from '../sql-stores.ts';
import type { Inspection, MigrationReport, SchemaOptions, Store } from '../store.ts';
import { createRevalidate } from './change-log.ts';
import { Database } from './connection.ts';
import { createReadLead, pageMethods } from './leads-read.ts';
import { leadMethods } from './leads-write.ts';
import { inspect, migrate, useSchema } from './migrate.ts';
import { runTasksOn } from './sql.ts';
import { LONG_TIMEOUTS, type Timeouts } from './timeouts.ts';
import { vacuum } from './vacuum.ts';
import { WriteQueue } from './write-queue.ts';

/** After this, a poll answers without the lock, from the committed leads: a stuck writer must not stop it. */
const POLL_LOCK_WAIT_MS = 1000;
const CONNECTIONS = 10;

export interface PostgresOptions extends Partial<Timeouts>, SchemaOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** The maximal number of connections. Default: 10. */
  readonly connections?: number;
  readonly pollLockWaitMs?: number;
  /** Stops the opening, which may wait for the server. Later it has no effect. */
  readonly signal?: AbortSignal;
}

/** Opens a connection for this work alone, which is not part of a poll: it may wait for a database that is being resumed. */
async function withDatabase<T>(
  url: string,
  work: (database: Database) => Promise<T>,
  { signal, ...timeouts }: Partial<Timeouts> & { readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const database = new Database(url, 1, { ...LONG_TIMEOUTS, ...timeouts }, signal);
  try {
    return await work(database);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await database.close();
  }
}

/** Reads the state of the database without changing anything. */
export const inspectPostgres = (
  url: string,
  clock: Clock = systemClock,
  signal?: AbortSignal,
): Promise<Inspection> => withDatabase(url, (database) => inspect(database, clock), { signal });

export const migratePostgres = (
  url: string,
  options: { readonly maxLockWaitMs?: number; readonly signal?: AbortSignal | undefined } = {},
): Promise<MigrationReport> =>
  withDatabase(url, (database) => migrate(database, options.maxLockWaitMs), { signal: options.signal });

export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const report = await withDatabase(options.url, (database) => useSchema(database, options), options);
  if (report) options.onMigrated?.(report);
  return createStore(new Database(options.url, options.connections ?? CONNECTIONS, options), options);
}

function createStore(database: Database, options: PostgresOptions): Store {
  const { readLeads, ...pages } = pageMethods(database, options.pollLockWaitMs ?? POLL_LOCK_WAIT_MS);
  const sql = runTasksOn(database);
  const stores = createSqlStores(sql, toLeadRecord, (full = false) => vacuum(database, full));
  const writeQueue = new WriteQueue(database);
  return {
    changeTracking: {
      revalidate: createRevalidate(database),
      readLeads,
      findHistory: (companyId, times) => sql.read(() => findHistory(companyId, times)),
    },
    ...pages,
    ...stores,
    hooks: { ...stores.hooks, readLead: createReadLead(database) },
    ...leadMethods(database),
    writeAllLeads: (leads, scope, sender, idempotency) =>
      writeQueue.enqueue({ leads, scope, sender, idempotency }),

    async status() {
      const [row] = await readSoon<{ version: string; latest: number; now: number }>(
        `SELECT current_setting('server_version') AS version, leadtap.clock_ms() AS now,
                coalesce(leadtap.to_ms(max(leadtap.last_stamp(c.id))), 0) AS latest FROM leadtap.companies AS c`,
      );
      return { engine: `PostgreSQL ${row?.version}`, latestStamp: row?.latest ?? 0, now: row?.now ?? 0 };
    },

    async readSize() {
      const [row] = await readSoon<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes');
      return row?.bytes ?? 0;
    },

    close: () => database.close(),
  };

  /** For reads whose duration grows with the tables: metrics are scraped within 10 s, and a shutdown must not wait long. */
  function readSoon<Row>(text: string): Promise<Row[]> {
    return sql.read(() => query<Row>(text), { timeout: 'short' });
  }
}
