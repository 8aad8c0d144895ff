import type { BranchRow, CompanyRow, DepartmentRow, StatusRow } from '../organisation-changes.ts';
import type { Organisation, User } from '../records.ts';
import { queryInChunks } from './chunks.ts';
import type { Session } from './connection.ts';
import { idInCompany, LoadedStatuses, LoadedTable } from './loaded-table.ts';
import { PUT_USERS, USER_COLUMNS } from './users.ts';

const FIND_COMPANIES = `
  SELECT id, name FROM leadtap.companies WHERE id IN (SELECT id FROM json_to_recordset($1) AS k (id text))`;

const FIND_STATUSES = `
  SELECT company_id AS "companyId", value, label, color, final, position FROM leadtap.statuses
   WHERE company_id IN (SELECT id FROM json_to_recordset($1) AS k (id text)) ORDER BY value COLLATE "C"`;

const FIND_BRANCHES = `
  SELECT company_id AS "companyId", id, name FROM leadtap.branches
   WHERE (company_id, id) IN (SELECT * FROM json_to_recordset($1) AS k ("companyId" text, id text))`;

const FIND_DEPARTMENTS = `
  SELECT company_id AS "companyId", id, branch_id AS "branchId", name FROM leadtap.departments
   WHERE (company_id, id) IN (SELECT * FROM json_to_recordset($1) AS k ("companyId" text, id text))`;

const FIND_USERS = `
  SELECT ${USER_COLUMNS} FROM leadtap.users
   WHERE id IN (SELECT id FROM json_to_recordset($1) AS k (id text))`;

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

type LoadedTables = Awaited<ReturnType<typeof readTables>>;

/** All that the database holds of what the file names. */
export async function readTables(session: Session, { companies }: Organisation) {
  const companyIds = companies.map(({ id }) => ({ id }));
  const branches = companies.flatMap((company) =>
    company.branches.map(({ id, departments }) => ({ companyId: company.id, id, departments })),
  );
  const branchIds = branches.map(({ companyId, id }) => ({ companyId, id }));
  const departmentIds = branches.flatMap(({ companyId, departments }) =>
    departments.map(({ id }) => ({ companyId, id })),
  );
  const userIds = companies.flatMap(({ users }) => users.map(({ id }) => ({ id })));
  const byId = ({ id }: { readonly id: string }) => id;
  const byPlace = ({ companyId, id }: { readonly companyId: string; readonly id: string }) =>
    idInCompany(companyId, id);
  return {
    companies: new LoadedTable(await queryInChunks<CompanyRow>(session, FIND_COMPANIES, companyIds), byId),
    statuses: new LoadedStatuses(await queryInChunks<StatusRow>(session, FIND_STATUSES, companyIds)),
    branches: new LoadedTable(await queryInChunks<BranchRow>(session, FIND_BRANCHES, branchIds), byPlace),
    departments: new LoadedTable(
      await queryInChunks<DepartmentRow>(session, FIND_DEPARTMENTS, departmentIds),
      byPlace,
    ),
    users: new LoadedTable(await queryInChunks<User>(session, FIND_USERS, userIds), byId),
  };
}

/** All but the new names of companies, whose rows the writers of leads need. */
export async function writeTables(session: Session, tables: LoadedTables): Promise<void> {
  await queryInChunks(session, ADD_COMPANIES, tables.companies.changed);
  await queryInChunks(session, PUT_STATUSES, tables.statuses.changed);
  await queryInChunks(session, PUT_BRANCHES, tables.branches.changed);
  await queryInChunks(session, PUT_DEPARTMENTS, tables.departments.changed);
  await queryInChunks(session, PUT_USERS, tables.users.changed);
}
