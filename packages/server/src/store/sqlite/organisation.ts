import {
  appliedOutcome,
  type BranchRow,
  type CompanyRow,
  type DepartmentRow,
  type DroppedStatus,
  type OrganisationTables,
  putOrganisation,
  type StatusRow,
} from '../organisation-changes.ts';
import type { Organisation } from '../records.ts';
import type { RollbackWith } from '../rollback.ts';
import type { ApplyOutcome } from '../store.ts';
import type { Users } from './accounts.ts';
import type { Connection } from './connection.ts';

/** Returns the work of a transaction that applies an organisation file. A conflict rolls it back. */
export function prepareApply(connection: Connection, users: Users) {
  const tables = prepareTables(connection, users);
  const dropStatus = prepareDropStatus(connection);
  return (organisation: Organisation, rollbackWith: RollbackWith<ApplyOutcome>): ApplyOutcome => {
    const difference = putOrganisation(tables, organisation);
    const { conflicts, dropped } = difference;
    if (conflicts.length > 0) return rollbackWith({ kind: 'conflict', conflicts });
    return appliedOutcome(difference, new Set(dropped.filter(dropStatus)));
  };
}

/** A row of the driver has no prototype, so a strict comparison with an object literal needs a copy of it. */
const copy = <Row extends object>(row: Row | undefined): Row | undefined => row && { ...row };

function prepareTables(connection: Connection, users: Users): OrganisationTables {
  return {
    companies: prepareCompanies(connection),
    branches: prepareBranches(connection),
    departments: prepareDepartments(connection),
    statuses: prepareStatuses(connection),
    users: { find: ({ id }) => users.find(id), put: (user) => users.put(user) },
  };
}

function prepareCompanies(connection: Connection): OrganisationTables['companies'] {
  const find = connection.prepare<CompanyRow>('SELECT id, name FROM companies WHERE id = ?');
  const put = connection.prepare(
    'INSERT INTO companies (id, name) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name',
  );
  return { find: ({ id }) => copy(find.get(id)), put: ({ id, name }) => put.run(id, name) };
}

function prepareBranches(connection: Connection): OrganisationTables['branches'] {
  const find = connection.prepare<BranchRow>(
    'SELECT company_id AS companyId, id, name FROM branches WHERE company_id = ? AND id = ?',
  );
  const put = connection.prepare(
    `INSERT INTO branches (company_id, id, name) VALUES (?, ?, ?)
     ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`,
  );
  return {
    find: ({ companyId, id }) => copy(find.get(companyId, id)),
    put: ({ companyId, id, name }) => put.run(companyId, id, name),
  };
}

function prepareDepartments(connection: Connection): OrganisationTables['departments'] {
  const find = connection.prepare<DepartmentRow>(
    `SELECT company_id AS companyId, id, branch_id AS branchId, name FROM departments
     WHERE company_id = ? AND id = ?`,
  );
  const put = connection.prepare(
    `INSERT INTO departments (company_id, id, branch_id, name) VALUES (?, ?, ?, ?)
     ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`,
  );
  return {
    find: ({ companyId, id }) => copy(find.get(companyId, id)),
    put: ({ companyId, id, branchId, name }) => put.run(companyId, id, branchId, name),
  };
}

function prepareStatuses(connection: Connection): OrganisationTables['statuses'] {
  const ofCompany = connection.prepare<Omit<StatusRow, 'final'> & { final: number }>(
    `SELECT company_id AS companyId, value, label, color, final, position FROM statuses
     WHERE company_id = ? ORDER BY value`,
  );
  const put = connection.prepare(
    `INSERT INTO statuses (company_id, value, label, color, final, position) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (company_id, value) DO UPDATE SET label = excluded.label, color = excluded.color,
       final = excluded.final, position = excluded.position`,
  );
  return {
    ofCompany: (companyId) => ofCompany.all(companyId).map((row) => ({ ...row, final: row.final === 1 })),
    put: ({ companyId, value, label, color, final, position }) =>
      put.run(companyId, value, label, color, final ? 1 : 0, position),
  };
}

/**
 * Removes a status, or moves it if leads still use it. True when it is kept.
 *
 * There is no index of the leads by status, because it would make every insert a tenth slower. So removing a status scans
 * all leads of the company twice, here and in SQLite's check of the foreign key: 0.9 s for a million leads, under the
 * write lock.
 */
function prepareDropStatus(connection: Connection): (status: DroppedStatus) => boolean {
  const lead = connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND status_value = ? LIMIT 1');
  const move = connection.prepare('UPDATE statuses SET position = ? WHERE company_id = ? AND value = ?');
  const remove = connection.prepare('DELETE FROM statuses WHERE company_id = ? AND value = ?');
  return ({ companyId, value, position }) => {
    const inUse = lead.get(companyId, value) !== undefined;
    if (inUse) move.run(position, companyId, value);
    else remove.run(companyId, value);
    return inUse;
  };
}
