import type { Session } from './connection.ts';

/** Sorted, so that two transactions never wait for each other's companies. */
const LOCK = `SELECT pg_advisory_xact_lock(leadtap.lock_class(), key)
  FROM (SELECT DISTINCT leadtap.company_lock(id) AS key FROM unnest($1::text[]) AS id ORDER BY key) AS keys`;

/** Until the transaction ends, nobody else adds leads to these companies. */
export async function lockCompanies(session: Session, companyIds: readonly string[]): Promise<void> {
  await session.query(LOCK, [companyIds]);
}
