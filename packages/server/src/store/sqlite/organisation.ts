import {
  type DroppedStatus,
  OrganisationDifference,
  type StatusRow,
} from '../../accounts/organisation-changes.ts';
import type { Organisation } from '../../accounts/records.ts';
import type { ApplyOutcome } from '../../accounts/store.ts';
import { PUT_USERS, SELECT_USERS } from './accounts.ts';
import type { Connection } from './connection.ts';

/** Of a JSON array. */
const IDS = '(SELECT value FROM json_each(?))';
const FIND_COMPANIES = `SELECT id, name FROM companies WHERE id IN ${IDS}`;
const FIND_STATUSES = `
  SELECT company_id AS companyId, value, label, color, final, position FROM statuses
   WHERE company_id IN ${IDS} ORDER BY value`;
const FIND_BRANCHES = `SELECT company_id AS companyId, id, name FROM branches WHERE company_id IN ${IDS}`;
const FIND_DEPARTMENTS = `
  SELECT company_id AS companyId, id, branch_id AS branchId, name FROM departments WHERE company_id IN ${IDS}`;
/** By their ids and not by their companies: a user may belong to another company, which is a conflict. */
const FIND_USERS = `${SELECT_USERS} WHERE id IN ${IDS}`;

/** Each takes a JSON array of rows, like `PUT_USERS`. */
const PUT_COMPANIES = `
  INSERT INTO companies (id, name) SELECT value ->> 'id', value ->> 'name' FROM json_each(?) WHERE true
  ON CONFLICT (id) DO UPDATE SET name = excluded.name`;
const PUT_STATUSES = `
  INSERT INTO statuses (company_id, value, label, color, final, position)
  SELECT value ->> 'companyId', value ->> 'value', value ->> 'label', value ->> 'color', value ->> 'final',
         value ->> 'position' FROM json_each(?) WHERE true
  ON CONFLICT (company_id, value) DO UPDATE SET label = excluded.label, color = excluded.color,
    final = excluded.final, position = excluded.position`;
const PUT_BRANCHES = `
  INSERT INTO branches (company_id, id, name)
  SELECT value ->> 'companyId', value ->> 'id', value ->> 'name' FROM json_each(?) WHERE true
  ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`;
const PUT_DEPARTMENTS = `
  INSERT INTO departments (company_id, id, branch_id, name)
  SELECT value ->> 'companyId', value ->> 'id', value ->> 'branchId', value ->> 'name'
    FROM json_each(?) WHERE true
  ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`;

/** Applies an organisation file in a transaction of the caller. */
export function applyOrganisation(connection: Connection, organisation: Organisation): ApplyOutcome {
  const { companies } = organisation;
  const companyIds = companies.map(({ id }) => id);
  const userIds = companies.flatMap(({ users }) => users.map(({ id }) => id));
  // Rows are copied, because those of the driver have no prototype and so differ from those of the file.
  const find = <Row extends object>(sql: string, ids: readonly string[]): Row[] =>
    connection
      .prepare<Row>(sql)
      .all(JSON.stringify(ids))
      .map((row) => ({ ...row }));
  const put = (sql: string, rows: readonly object[]) => connection.prepare(sql).run(JSON.stringify(rows));
  const difference = new OrganisationDifference(
    {
      companies: find(FIND_COMPANIES, companyIds),
      statuses: find<StatusRow>(FIND_STATUSES, companyIds).map((row) => ({
        ...row,
        final: Boolean(row.final),
      })),
      branches: find(FIND_BRANCHES, companyIds),
      departments: find(FIND_DEPARTMENTS, companyIds),
      users: find(FIND_USERS, userIds),
    },
    organisation,
  );
  const { conflicts, dropped } = difference;
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  put(PUT_COMPANIES, difference.companies.changed);
  put(PUT_STATUSES, difference.statuses.changed);
  put(PUT_BRANCHES, difference.branches.changed);
  put(PUT_DEPARTMENTS, difference.departments.changed);
  put(PUT_USERS, difference.users.changed);
  return difference.outcome(new Set(dropped.filter((status) => dropStatus(connection, status))));
}

/**
 * Removes a status, or moves it if leads still use it. True when it is kept.
 *
 * There is no index of the leads by status, because it would make every insert a tenth slower. So removing a status scans
 * all leads of the company twice, here and in SQLite's check of the foreign key: 0.9 s for a million leads, under the
 * write lock.
 */
function dropStatus(connection: Connection, { companyId, value, position }: DroppedStatus): boolean {
  const lead = connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND status_value = ? LIMIT 1');
  const isUsed = lead.get(companyId, value) !== undefined;
  if (isUsed)
    connection
      .prepare('UPDATE statuses SET position = ? WHERE company_id = ? AND value = ?')
      .run(position, companyId, value);
  else connection.prepare('DELETE FROM statuses WHERE company_id = ? AND value = ?').run(companyId, value);
  return isUsed;
}
