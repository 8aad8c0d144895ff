import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../../sql/errors.ts';
import * as migrations from '../migrations.ts';
import type { Inspection, MigrationReport, SchemaOptions, ServerFacts } from '../store.ts';
import { type Database, NO_TIMEOUT_MS, type Session } from './connection.ts';
import { isLockBusy } from './errors.ts';
import { renderFunctions } from './functions.ts';

/** Also right from `dist/`: SQL is not compiled, so its only copy is in `src/`. */
const FOLDER = new URL('../../../src/store/postgres/', import.meta.url);
const OLDEST_SERVER = 140_000;
/** "LTAP". A single key, so that it differs from the locks of companies, which have two. */
const MIGRATION_LOCK = 0x4c544150;

/** Polls wait for 3 seconds. */
const LOCK_TIMEOUT_MS = 1000;
const LOCK_PAUSE_MS = 1000;
const MAX_LOCK_WAIT_MS = 60_000;

/** The roles of `roles.sql` that do not exist. */
const MISSING_ROLES = `ARRAY(
  SELECT role FROM unnest(ARRAY['leadtap_owner', 'leadtap_service', 'leadtap_writer']) AS role
   WHERE to_regrole(role) IS NULL)`;

/** Every role may read these facts, also before the schema exists. */
const FACTS = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs",
         pg_is_in_recovery() AS "isStandby",
         current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'
           AND NOT EXISTS (SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
                            WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
                              AND setting ~* '^synchronous_commit=(off|false|no|0)$') AS "isDurable",
         current_setting('default_transaction_isolation') AS isolation,
         current_setting('server_encoding') AS encoding`;

const APPLIED = 'SELECT * FROM leadtap.migrations ORDER BY version';
const RECORD = 'INSERT INTO leadtap.migrations (version, name, checksum, functions) VALUES ($1, $2, $3, $4)';

/** From 0 when there is no schema yet. Refuses an old server, a schema of another program, and another schema of Leadtap. */
async function readPlan(
  session: Session,
  functions = renderFunctions(FOLDER),
): Promise<migrations.MigrationPlan> {
  const [found] = await session.query<{ server: number; version: string; ours: boolean; foreign: boolean }>(
    `SELECT current_setting('server_version_num')::integer AS server, current_setting('server_version') AS version,
            to_regclass('leadtap.migrations') IS NOT NULL AS ours,
            EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('leadtap')) AS foreign`,
  );
  if (found && found.server < OLDEST_SERVER)
    throw new UnusableDatabaseError(`the server is PostgreSQL ${found.version}; Leadtap needs 14 or later`);
  if (!found?.ours && found?.foreign)
    throw new UnusableDatabaseError('the schema leadtap of this database was made by another program');
  const applied = found?.ours ? await session.query<migrations.AppliedMigration>(APPLIED) : [];
  return migrations.planMigrations(
    migrations.readMigrations(FOLDER),
    applied,
    migrations.checksumOf(functions),
  );
}

/** A schema that is up to date needs no lock, so that any number of instances start at the same time. */
export async function useSchema(
  database: Database,
  options: SchemaOptions = {},
): Promise<MigrationReport | undefined> {
  return migrations.needsMigration(await readPlan(database), options) ? migrate(database) : undefined;
}

/**
 * Brings the schema up to date in one transaction. A statement that waits for a table lock blocks all polls and writers that come
 * after it, so it waits for a shorter time than polls do; then they get their turn, and the transaction is tried again.
 */
export async function migrate(
  database: Database,
  maxLockWaitMs: number = MAX_LOCK_WAIT_MS,
): Promise<MigrationReport> {
  for (const deadline = performance.now() + maxLockWaitMs; ; await sleep(LOCK_PAUSE_MS)) {
    try {
      return await migrateOnce(database);
    } catch (error) {
      if (!isLockBusy(error)) throw error;
      if (performance.now() >= deadline) throw await describeLock(database, error);
    }
  }
}

/**
 * The version is read under an advisory lock, so any number of processes may migrate at once: the first one applies all migrations,
 * the others none. Grants the roles their rights.
 */
function migrateOnce(database: Database): Promise<MigrationReport> {
  const timeouts = { statementTimeoutMs: NO_TIMEOUT_MS, lockTimeoutMs: NO_TIMEOUT_MS };
  return database.transaction(async (session) => {
    await session.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await session.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const functions = renderFunctions(FOLDER);
    const { from, to, pending, applied } = await readPlan(session, functions);
    if (from > to) throw new SchemaVersionError(from, to);
    const warnings = await becomeOwner(session, from);
    if (from === 0) await session.query('CREATE SCHEMA leadtap');
    // Before the migrations, which make triggers of them. What they name need not exist before they are called.
    if (pending.length > 0) await session.query(functions);
    for (const { version, name, checksum, sql } of pending) {
      await session.query(sql);
      await session.query(RECORD, [version, name, checksum, migrations.checksumOf(functions)]);
    }
    await session.query(readSql('grants.sql'));
    return { from, to, applied, ...(warnings.length > 0 && { warnings }) };
  }, timeouts);
}

/** The times of other users' transactions are null for users without the role pg_read_all_stats. */
const LOCK_HOLDERS = `
  SELECT DISTINCT a.pid, a.usename AS "user", a.application_name AS program
    FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation JOIN pg_stat_activity AS a ON a.pid = l.pid
   WHERE l.granted AND c.relnamespace = to_regnamespace('leadtap') AND a.datname = current_database()
     AND coalesce(a.xact_start < now() - make_interval(secs => ${LOCK_TIMEOUT_MS / 1000}), true) LIMIT 5`;

async function describeLock(database: Database, error: unknown): Promise<StoreUnavailableError> {
  const holders = await database.query<{ pid: number; user: string; program: string | null }>(LOCK_HOLDERS);
  const names = holders.map(({ pid, user, program }) => `process ${pid} (user ${user}, ${program || '-'})`);
  return new StoreUnavailableError(
    `other programs hold locks on the tables of Leadtap, so nothing was migrated: ${names.join(', ')}`,
    { cause: error instanceof Error ? error.cause : error },
  );
}

const readSql = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

/** Creates the roles where that is allowed, and becomes the owner for the rest of the transaction. */
async function becomeOwner(session: Session, from: number): Promise<string[]> {
  await session.query(readSql('roles.sql'));
  const [roles] = await session.query<{ missing: string[]; owner: string | null; may_be_owner: boolean }>(
    `SELECT ${MISSING_ROLES} AS missing,
            (SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'leadtap') AS owner,
            to_regrole('leadtap_owner') IS NOT NULL
              AND pg_has_role(current_user, to_regrole('leadtap_owner'), 'MEMBER')
              AND has_database_privilege(to_regrole('leadtap_owner'), current_database(), 'CREATE') AS may_be_owner`,
  );
  const ownedByRole = from === 0 ? roles?.may_be_owner : roles?.owner === 'leadtap_owner';
  if (ownedByRole) await session.query('SET LOCAL ROLE leadtap_owner');
  const missing = roles?.missing ?? [];
  return missing.length === 0
    ? []
    : [
        `this user may not create the roles ${missing.join(', ')}; as a user with that right, run CREATE ROLE … NOLOGIN for each, then run \`leadtap migrate\` again`,
      ];
}

/** Reads the state of the database without changing anything. */
export async function inspect(database: Database, clock: Clock): Promise<Inspection> {
  const { from, to } = await readPlan(database);
  const before = clock();
  const [row] = await database.query<Omit<ServerFacts, 'clockAheadMs'> & { nowMs: number }>(FACTS);
  const after = clock();
  if (row === undefined) throw new Error('the query for facts about the server returned no row');
  const { nowMs, ...facts } = row;
  return {
    exists: from > 0,
    schemaVersion: from,
    expectedVersion: to,
    faults: [],
    // The server read its clock at some time between request and response; the middle is the best estimate.
    server: { ...facts, clockAheadMs: Math.round(nowMs - (before + after) / 2) },
  };
}
