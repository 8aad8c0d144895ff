/** Removes the bytes of deleted leads from the files of the table. */
import type { VacuumReport } from '../../leads/removal.ts';
import { StoreUnavailableError } from '../../sql/errors.ts';
import { type Database, NO_TIMEOUT_MS } from './connection.ts';

/** The owner may, and from PostgreSQL 17 on a role with MAINTAIN. VACUUM itself only warns, and does nothing. */
const MAY_VACUUM = `
  SELECT pg_has_role(c.relowner, 'USAGE')
         OR CASE WHEN current_setting('server_version_num')::integer >= 170000
                 THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END AS "mayVacuum"
    FROM pg_class AS c WHERE c.oid = 'leadtap.leads'::regclass`;

/** What receivers of webhooks have answered is in `activity`. */
const TABLES = 'leadtap.leads, leadtap.refused_leads, leadtap.activity';
/** Polls that arrive while VACUUM FULL waits for its lock would wait behind it, so it is tried for a short time before. */
const TRY_LOCK = `LOCK TABLE ${TABLES} IN ACCESS EXCLUSIVE MODE`;
const TRY_LOCK_TIMEOUT_MS = 2000;

const LOGS_REMAIN =
  'The write-ahead log, WAL archives and backups of PostgreSQL contain the deleted leads until you recycle or delete them.';

/**
 * VACUUM frees the space of deleted rows but does not overwrite it. VACUUM FULL writes the table and its indexes again; polls
 * and writers wait meanwhile.
 */
export async function vacuum(database: Database, full: boolean): Promise<VacuumReport> {
  const report = (isComplete: boolean, ...remains: string[]) => ({
    isComplete,
    remains: [...remains, LOGS_REMAIN],
  });
  const [rights] = await database.query<{ mayVacuum: boolean }>(MAY_VACUUM);
  if (!rights?.mayVacuum)
    return report(
      !full,
      `This login may not vacuum the table. To remove the bytes of deleted leads from its files, run as its owner: VACUUM (FULL, ANALYZE) ${TABLES}`,
    );
  try {
    if (full)
      await database.transaction((session) => session.query(TRY_LOCK), {
        lockTimeoutMs: TRY_LOCK_TIMEOUT_MS,
      });
    // ANALYZE replaces the samples of ids that the planner keeps.
    await database.query(`VACUUM (${full ? 'FULL, ' : ''}ANALYZE) ${TABLES}`, [], {
      timeoutMs: NO_TIMEOUT_MS,
    });
  } catch (error) {
    if (!full || !(error instanceof StoreUnavailableError)) throw error;
    return report(
      false,
      `The table was not rewritten (${error.message}). Run \`leadtap leads erase --vacuum\` again.`,
    );
  }
  if (full) return report(true);
  return report(
    true,
    'Free space in the files of PostgreSQL may contain bytes of the deleted leads until it is used again. To remove them now, run `leadtap leads erase --vacuum`; polls and writers wait or get 503 while it rewrites the table.',
  );
}
