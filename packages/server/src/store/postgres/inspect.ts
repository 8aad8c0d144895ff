import type { Clock } from '../../clock.ts';
import type { Inspection, ServerFacts } from '../store.ts';
import type { Database } from './connection.ts';
import { expectedVersion, MISSING_ROLES, refuseOldServer, schemaVersion } from './migrate.ts';

/** Every role may read these facts, also before the schema exists. PostgreSQL 16 has two settings for reserved connections. */
const FACTS = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs",
         least(
           current_setting('max_connections')::integer
             - current_setting('superuser_reserved_connections')::integer
             - coalesce(current_setting('reserved_connections', true)::integer, 0),
           (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
           (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS "connectionLimit",
         pg_is_in_recovery() AS "isStandby",
         current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS "isDurable",
         current_setting('default_transaction_isolation') AS isolation,
         current_setting('server_encoding') AS encoding,
         ${MISSING_ROLES} AS "missingRoles"`;

/** Reads the state of the database without changing anything. */
export async function inspect(database: Database, clock: Clock): Promise<Inspection> {
  await refuseOldServer(database);
  const version = await schemaVersion(database);
  const before = clock();
  const [row] = await database.query<Omit<ServerFacts, 'clockAheadMs'> & { nowMs: number }>(FACTS);
  const after = clock();
  if (row === undefined) throw new Error('the query for facts about the server returned no row');
  const { nowMs, ...facts } = row;
  return {
    exists: version > 0,
    schemaVersion: version,
    expectedVersion: expectedVersion(),
    faults: [],
    // The server read its clock at some time between request and response; the middle is the best estimate.
    server: { ...facts, clockAheadMs: Math.round(nowMs - (before + after) / 2) },
  };
}
