import type { Clock } from '../../clock.ts';
import { prepareChanges } from './changes.ts';
import type { Connection } from './connection.ts';
import { preparePlaces } from './known-places.ts';
import { LeadWrites } from './lead-writes.ts';
import { preparePages } from './leads-read.ts';
import { prepareApply } from './organisation.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

export interface PrepareOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly writeLockWaitMs: number;
}

/** All statements of a store, prepared on one connection: another file needs all of them anew. */
export function prepareDatabase(connection: Connection, { file, clock, writeLockWaitMs }: PrepareOptions) {
  const users = new Users(connection);
  const lastStamp = connection.prepare<{ last_stamp: number }>(
    'SELECT last_stamp FROM companies WHERE id = ?',
  );
  // A table, not `SELECT 1`, which SQLite answers without reading the file.
  const ping = connection.prepare('SELECT 1 FROM companies LIMIT 1');
  const status = connection.prepare<{ engine: string; latestStamp: number }>(
    `SELECT 'SQLite ' || sqlite_version() AS engine, coalesce(max(last_stamp), 0) AS latestStamp FROM companies`,
  );
  return {
    connection,
    users,
    tokens: new Tokens(connection),
    applyOrganisation: prepareApply(connection, users),
    leads: new LeadWrites(connection, { file, clock, lockWaitMs: writeLockWaitMs }),
    readLeads: preparePages(connection),
    readChanges: prepareChanges(connection),
    beginPlaces: preparePlaces(connection),
    /** A company that has never had a lead has the stamp 0. */
    readLastStamp: (companyId: string) => lastStamp.get(companyId)?.last_stamp || undefined,
    ping: () => ping.get(),
    readStatus: () => status.get(),
  };
}

export type PreparedDatabase = ReturnType<typeof prepareDatabase>;
