import type { Session } from './connection.ts';

/** Until the transaction ends, nobody else adds leads to these companies. */
export async function lockCompanies(session: Session, companyIds: readonly string[]): Promise<void> {
  await session.query('SELECT leadtap.lock_companies($1)', [companyIds]);
}
