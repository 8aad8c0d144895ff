import {
  type DroppedStatus,
  OrganisationDifference,
  type StoredOrganisation,
} from '../../accounts/organisation-changes.ts';
import { idInCompany, type Organisation } from '../../accounts/records.ts';
import type { ApplyOutcome, StatusOfCompany } from '../../accounts/store.ts';
import { PUT_USERS, USER_COLUMNS } from './accounts.ts';
import { lockCompanies, queryInChunks, type Session } from './connection.ts';

/**
 * The rows that are compared must not change before they are written: no other transaction writes users, and a second
 * file waits here too. Reads, those of polls for one, do not wait. The table is locked and not each row, because a file
 * may name a hundred thousand users, and a user who does not exist yet has no row to lock.
 */
const LOCK_USERS = 'LOCK TABLE leadtap.users IN EXCLUSIVE MODE';

const RENAME_COMPANIES = `
  UPDATE leadtap.companies AS c SET name = n.name
    FROM json_to_recordset($1) AS n (id text, name text) WHERE c.id = n.id`;

/** Of a JSON array of objects with an id. */
const IDS = '(SELECT id FROM json_to_recordset($1) AS k (id text))';
const FIND_COMPANIES = `SELECT id, name FROM leadtap.companies WHERE id IN ${IDS}`;
const FIND_STATUSES = `
  SELECT company_id AS "companyId", value, label, color, final, position FROM leadtap.statuses
   WHERE company_id IN ${IDS} ORDER BY value COLLATE "C"`;
const FIND_BRANCHES = `
  SELECT company_id AS "companyId", id, name FROM leadtap.branches WHERE company_id IN ${IDS}`;
const FIND_DEPARTMENTS = `
  SELECT company_id AS "companyId", id, branch_id AS "branchId", name FROM leadtap.departments
   WHERE company_id IN ${IDS}`;
/** By their ids and not by their companies: a user may belong to another company, which is a conflict. */
const FIND_USERS = `SELECT ${USER_COLUMNS} FROM leadtap.users WHERE id IN ${IDS}`;

const ADD_COMPANIES = `
  INSERT INTO leadtap.companies (id, name) SELECT * FROM json_to_recordset($1) AS c (id text, name text)
  ON CONFLICT (id) DO NOTHING`;

const PUT_STATUSES = `
  INSERT INTO leadtap.statuses (company_id, value, label, color, final, position)
  SELECT * FROM json_to_recordset($1)
    AS s ("companyId" text, value text, label text, color text, final boolean, position integer)
  ON CONFLICT (company_id, value) DO UPDATE SET label = excluded.label, color = excluded.color,
    final = excluded.final, position = excluded.position`;

const PUT_BRANCHES = `
  INSERT INTO leadtap.branches (company_id, id, name)
  SELECT * FROM json_to_recordset($1) AS b ("companyId" text, id text, name text)
  ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`;

const PUT_DEPARTMENTS = `
  INSERT INTO leadtap.departments (company_id, id, branch_id, name)
  SELECT * FROM json_to_recordset($1) AS d ("companyId" text, id text, "branchId" text, name text)
  ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`;

const DROPPED = 'json_to_recordset($1) AS d ("companyId" text, value text, position integer)';

/** A transaction that gives a lead one of these statuses waits for this one, or this one for it. */
const LOCK_STATUSES = `
  SELECT FROM leadtap.statuses AS s JOIN ${DROPPED} ON s.company_id = d."companyId" AND s.value = d.value
   ORDER BY s.company_id, s.value FOR UPDATE OF s`;

/** LIMIT instead of EXISTS, which might read the leads of all companies for a list of many statuses. */
const REMOVE_STATUSES = `
  DELETE FROM leadtap.statuses AS s USING ${DROPPED}
   WHERE s.company_id = d."companyId" AND s.value = d.value
     AND (SELECT true FROM leadtap.leads AS l
           WHERE l.company_id = d."companyId" AND l.status_value = d.value LIMIT 1) IS NULL
  RETURNING s.company_id AS "companyId", s.value`;

const MOVE_STATUSES = `
  UPDATE leadtap.statuses AS s SET position = d.position FROM ${DROPPED}
   WHERE s.company_id = d."companyId" AND s.value = d.value`;

/** Applies an organisation file in the transaction of the session. */
export async function applyOrganisation(session: Session, organisation: Organisation): Promise<ApplyOutcome> {
  await session.query(LOCK_USERS);
  const difference = new OrganisationDifference(await readStored(session, organisation), organisation);
  const { conflicts } = difference;
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  await queryInChunks(session, ADD_COMPANIES, difference.companies.changed);
  await queryInChunks(session, PUT_STATUSES, difference.statuses.changed);
  await queryInChunks(session, PUT_BRANCHES, difference.branches.changed);
  await queryInChunks(session, PUT_DEPARTMENTS, difference.departments.changed);
  const keptStatuses = await changeUnderLock(session, difference);
  // After the locks of companies, as in every request that sends leads: the users are locked by a trigger.
  await queryInChunks(session, PUT_USERS, difference.users.changed);
  return difference.outcome(keptStatuses);
}

/** The stored rows of the companies of the file, and of its users. */
async function readStored(session: Session, { companies }: Organisation): Promise<StoredOrganisation> {
  const userIds = companies.flatMap(({ users }) => users.map(({ id }) => ({ id })));
  const companyIds = companies.map(({ id }) => ({ id }));
  return {
    companies: await queryInChunks(session, FIND_COMPANIES, companyIds),
    statuses: await queryInChunks(session, FIND_STATUSES, companyIds),
    branches: await queryInChunks(session, FIND_BRANCHES, companyIds),
    departments: await queryInChunks(session, FIND_DEPARTMENTS, companyIds),
    users: await queryInChunks(session, FIND_USERS, userIds),
  };
}

/**
 * The changes that block transactions that add leads: those update the row of the company and use its first status.
 * Made late, under the locks of the companies, so that the wait is short and there is no deadlock. Returns the dropped
 * statuses that stay.
 */
async function changeUnderLock(
  session: Session,
  { companies, dropped }: OrganisationDifference,
): Promise<ReadonlySet<DroppedStatus>> {
  const renamed = companies.changed.filter(({ id }) => companies.find(id));
  const companyIds = new Set([...renamed.map(({ id }) => id), ...dropped.map(({ companyId }) => companyId)]);
  if (companyIds.size > 0) await lockCompanies(session, [...companyIds]);
  await queryInChunks(session, RENAME_COMPANIES, renamed);
  return dropped.length > 0 ? dropStatuses(session, dropped) : new Set();
}

/**
 * No index finds the leads of a status: it would make every new lead more expensive. So a status without leads costs two
 * scans of all leads of the company, this one and PostgreSQL's own foreign key check, but none of other companies.
 */
async function dropStatuses(
  session: Session,
  dropped: readonly DroppedStatus[],
): Promise<ReadonlySet<DroppedStatus>> {
  await session.query('SET LOCAL enable_seqscan = off');
  await queryInChunks(session, LOCK_STATUSES, dropped);
  const removed = await queryInChunks<StatusOfCompany>(session, REMOVE_STATUSES, dropped);
  await queryInChunks(session, MOVE_STATUSES, dropped);
  const removedKeys = new Set(removed.map(({ companyId, value }) => idInCompany(companyId, value)));
  return new Set(dropped.filter(({ companyId, value }) => !removedKeys.has(idInCompany(companyId, value))));
}
