import type { Clock } from '../../clock.ts';
import type { ServerFacts } from '../store.ts';
import type { Session } from './connection.ts';

/** Of the roles that `roles.sql` makes, those that are not there. */
export const MISSING_ROLES = `ARRAY(
  SELECT role FROM unnest(ARRAY['leadtap_owner', 'leadtap_service', 'leadtap_writer']) AS role
   WHERE to_regrole(role) IS NULL)`;

/** Asks only for what every role may know, and for nothing that Leadtap made. PostgreSQL 16 reserves in two ways. */
const FACTS = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
         current_setting('max_connections')::integer
           - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true)::integer, 0) AS server_limit,
         (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user) AS role_limit,
         (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()) AS database_limit,
         pg_is_in_recovery() AS is_standby,
         current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS is_durable,
         current_setting('default_transaction_isolation') AS isolation,
         current_setting('server_encoding') AS encoding,
         ${MISSING_ROLES} AS missing_roles`;

interface FactsRow {
  readonly now_ms: number;
  readonly server_limit: number;
  readonly role_limit: number | null;
  readonly database_limit: number | null;
  readonly is_standby: boolean;
  readonly is_durable: boolean;
  readonly isolation: string;
  readonly encoding: string;
  readonly missing_roles: string[];
}

export async function readServerFacts(session: Session, clock: Clock): Promise<ServerFacts> {
  const before = clock();
  const [row] = await session.query<FactsRow>(FACTS);
  const after = clock();
  if (row === undefined) throw new Error('PostgreSQL told nothing about itself');
  const limits = [row.server_limit, row.role_limit, row.database_limit].filter((limit) => limit !== null);
  return {
    // Somewhere between question and answer the server looked at its clock: half the way is the best guess.
    clockAheadMs: Math.round(row.now_ms - (before + after) / 2),
    connectionLimit: Math.min(...limits),
    isStandby: row.is_standby,
    isDurable: row.is_durable,
    isolation: row.isolation,
    encoding: row.encoding,
    missingRoles: row.missing_roles,
  };
}
