import {
  appliedOutcome,
  type CompanyRow,
  type DroppedStatus,
  putOrganisation,
} from '../organisation-changes.ts';
import type { Organisation } from '../records.ts';
import type { RollbackWith } from '../rollback.ts';
import type { ApplyOutcome, StatusOfCompany } from '../store.ts';
import { queryInChunks } from './chunks.ts';
import { lockCompanies } from './company-locks.ts';
import type { Session } from './connection.ts';
import { idInCompany } from './loaded-table.ts';
import { readTables, writeTables } from './organisation-tables.ts';

/**
 * What is compared must still be true when it is written, so from here on nobody else writes users, and no second file
 * is applied: it waits here too. Whoever reads, a poll for one, does not wait. A lock of the table and not of each row,
 * because a file may name a hundred thousand users, and a user who is not there yet has no row to lock.
 */
const LOCK = 'LOCK TABLE leadtap.users IN EXCLUSIVE MODE';

const RENAME_COMPANIES = `
  UPDATE leadtap.companies AS c SET name = n.name
    FROM json_to_recordset($1) AS n (id text, name text) WHERE c.id = n.id`;

const DROPPED = 'json_to_recordset($1) AS d ("companyId" text, value text, position integer)';

/** Whoever gives a lead one of these statuses from here on waits, and those who just did are waited for. */
const LOCK_STATUSES = `
  SELECT FROM leadtap.statuses AS s JOIN ${DROPPED} ON s.company_id = d."companyId" AND s.value = d.value
   ORDER BY s.company_id, s.value FOR UPDATE OF s`;

/** With a limit and not with EXISTS, which might read the leads of all companies for a list of many statuses. */
const REMOVE_STATUSES = `
  DELETE FROM leadtap.statuses AS s USING ${DROPPED}
   WHERE s.company_id = d."companyId" AND s.value = d.value
     AND (SELECT true FROM leadtap.leads AS l
           WHERE l.company_id = d."companyId" AND l.status_value = d.value LIMIT 1) IS NULL
  RETURNING s.company_id AS "companyId", s.value`;

const MOVE_STATUSES = `
  UPDATE leadtap.statuses AS s SET position = d.position FROM ${DROPPED}
   WHERE s.company_id = d."companyId" AND s.value = d.value`;

/** Applies an organisation file in the transaction of the session; with a conflict, nothing of it stays. */
export async function applyOrganisation(
  session: Session,
  organisation: Organisation,
  rollbackWith: RollbackWith<ApplyOutcome>,
): Promise<ApplyOutcome> {
  await session.query(LOCK);
  const tables = await readTables(session, organisation);
  const difference = putOrganisation(tables, organisation);
  const { conflicts, dropped } = difference;
  if (conflicts.length > 0) return rollbackWith({ kind: 'conflict', conflicts });
  await writeTables(session, tables);
  return appliedOutcome(difference, await changeUnderLock(session, tables.companies.replaced, dropped));
}

/**
 * What stands in the way of those who add leads: they change the row of the company and rely on its first status. It
 * comes last, under the locks of the companies, so that nobody waits long and no two wait for each other. Gives the
 * dropped statuses that stay.
 */
async function changeUnderLock(
  session: Session,
  renamed: readonly CompanyRow[],
  dropped: readonly DroppedStatus[],
): Promise<ReadonlySet<DroppedStatus>> {
  const companyIds = new Set([...renamed.map(({ id }) => id), ...dropped.map(({ companyId }) => companyId)]);
  if (companyIds.size > 0) await lockCompanies(session, [...companyIds]);
  await queryInChunks(session, RENAME_COMPANIES, renamed);
  return dropped.length > 0 ? dropStatuses(session, dropped) : new Set();
}

/**
 * No index finds the leads of a status: one more would make every new lead dearer. So a status without leads costs two
 * readings of all leads of the company, this one and PostgreSQL's own check of the reference, but not those of others.
 */
async function dropStatuses(
  session: Session,
  dropped: readonly DroppedStatus[],
): Promise<ReadonlySet<DroppedStatus>> {
  await session.query('SET LOCAL enable_seqscan = off');
  await queryInChunks(session, LOCK_STATUSES, dropped);
  const removed = await queryInChunks<StatusOfCompany>(session, REMOVE_STATUSES, dropped);
  await queryInChunks(session, MOVE_STATUSES, dropped);
  const gone = new Set(removed.map(({ companyId, value }) => idInCompany(companyId, value)));
  return new Set(dropped.filter(({ companyId, value }) => !gone.has(idInCompany(companyId, value))));
}
