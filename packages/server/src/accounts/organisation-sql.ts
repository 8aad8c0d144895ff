/** Companies with their places, statuses and users in a database: what `org apply` writes and `org export` reads. */

import {
  type Dialect,
  insertSql,
  isStorable,
  lock,
  putSql,
  query,
  queryInChunks,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
} from '../sql/sql.ts';
import {
  type BranchRow,
  type CompanyRow,
  type DepartmentRow,
  type DroppedStatus,
  OrganisationDifference,
  type StatusRow,
  type StoredOrganisation,
} from './organisation-changes.ts';
import { idInCompany, type Organisation, type User } from './records.ts';
import type { AccountStore, ApplyOptions, ApplyOutcome, StatusOfCompany, StoredCompany } from './store.ts';

const COMPANIES: Table<CompanyRow> = { name: 'companies', key: ['id'], types: { id: 'text', name: 'text' } };

const BRANCHES: Table<BranchRow> = {
  name: 'branches',
  key: ['company_id', 'id'],
  types: { companyId: 'text', id: 'text', name: 'text' },
};

const DEPARTMENTS: Table<DepartmentRow> = {
  name: 'departments',
  key: ['company_id', 'id'],
  types: { companyId: 'text', id: 'text', branchId: 'text', name: 'text' },
};

const STATUSES: Table<StatusRow> = {
  name: 'statuses',
  key: ['company_id', 'value'],
  types: {
    companyId: 'text',
    value: 'text',
    label: 'text',
    color: 'text',
    final: 'boolean',
    position: 'integer',
  },
};

export const USERS: Table<User> = {
  name: 'users',
  key: ['id'],
  types: {
    id: 'text',
    companyId: 'text',
    email: 'text',
    name: 'text',
    plan: 'text',
    accessLevel: 'text',
    branchId: 'text',
    departmentId: 'text',
  },
};

/** The rows of a table whose column has one of the ids, which are a JSON array of objects; sorted by their key. */
const findSql = <Row>({ rows }: Dialect, { name, types, key }: Table<Row>, column: string): string => `
  SELECT ${selectFields(types, 't')} FROM leadtap.${name} AS t
   WHERE t.${column} IN (SELECT k.id FROM ${rows('$1', { id: 'text' })} AS k)
   ORDER BY ${key.map((part) => `t.${part}`).join(', ')}`;

function prepareSql(dialect: Dialect) {
  const dropped = dialect.rows('$1', { companyId: 'text', value: 'text', position: 'integer' });
  return {
    findCompanies: findSql(dialect, COMPANIES, 'id'),
    findStatuses: findSql(dialect, STATUSES, 'company_id'),
    findBranches: findSql(dialect, BRANCHES, 'company_id'),
    findDepartments: findSql(dialect, DEPARTMENTS, 'company_id'),
    /** By their ids and not by their companies: a user may belong to another company, which is a conflict. */
    findUsers: findSql(dialect, USERS, 'id'),
    addCompanies: `${insertSql(dialect, COMPANIES)} ON CONFLICT (id) DO NOTHING`,
    putCompanies: putSql(dialect, COMPANIES),
    putStatuses: putSql(dialect, STATUSES),
    putBranches: putSql(dialect, BRANCHES),
    putDepartments: putSql(dialect, DEPARTMENTS),
    putUsers: putSql(dialect, USERS),
    /** A transaction that gives a lead one of these statuses waits for this one, or this one for it. */
    lockStatuses: `
      SELECT 1 FROM leadtap.statuses AS s JOIN ${dropped} AS d ON s.company_id = d."companyId" AND s.value = d.value
       ORDER BY s.company_id, s.value FOR UPDATE OF s`,
    /** LIMIT instead of EXISTS, which might read the leads of all companies for a list of many statuses. */
    removeStatuses: `
      DELETE FROM leadtap.statuses WHERE (company_id, value) IN (
        SELECT d."companyId", d.value FROM ${dropped} AS d
         WHERE (SELECT 1 FROM leadtap.leads AS l
                 WHERE l.company_id = d."companyId" AND l.status_value = d.value LIMIT 1) IS NULL)
      RETURNING company_id AS "companyId", value`,
    moveStatuses: `
      UPDATE leadtap.statuses AS s SET position = d.position FROM ${dropped} AS d
       WHERE s.company_id = d."companyId" AND s.value = d.value`,
  };
}

type Statements = ReturnType<typeof prepareSql>;

/**
 * The rows that are compared must not change before they are written: no other transaction writes users, and a second file waits
 * here too. Reads, those of polls for one, do not wait. The table is locked and not each row, because a file may name a hundred
 * thousand users, and a user who does not exist yet has no row to lock.
 */
const LOCK_USERS = 'LOCK TABLE leadtap.users IN EXCLUSIVE MODE';

const COMPANIES_AFTER = `
  SELECT ${selectFields(COMPANIES.types, 'c')} FROM leadtap.companies AS c WHERE c.id > $1 ORDER BY c.id LIMIT $2`;
const COMPANY_BY_ID = `SELECT ${selectFields(COMPANIES.types, 'c')} FROM leadtap.companies AS c WHERE c.id = $1`;
const USERS_AFTER = `
  SELECT ${selectFields(USERS.types, 'u')} FROM leadtap.users AS u
   WHERE u.company_id = $1 AND u.id > $2 ORDER BY u.company_id, u.id LIMIT $3`;

const byId = (id: string) => ({ id });

export function createOrganisationMethods({
  dialect,
  read,
  write,
}: SqlDatabase): Pick<AccountStore, 'applyOrganisation' | 'organisation'> {
  const sql = prepareSql(dialect);
  return {
    applyOrganisation: (organisation, options) => write(() => applyOrganisation(sql, organisation, options)),

    organisation: {
      readCompanies: (afterId, limit) =>
        read(
          function* () {
            const companies = yield* query<CompanyRow>(COMPANIES_AFTER, [afterId ?? '', limit]);
            return yield* readPlaces(sql, companies);
          },
          { timeout: 'none' },
        ),

      readCompanyNames: (afterId, limit) =>
        read(() => query<CompanyRow>(COMPANIES_AFTER, [afterId ?? '', limit])),

      async readCompany(id) {
        if (!isStorable(id)) return undefined;
        const [company] = await read(
          function* () {
            return yield* readPlaces(sql, yield* query<CompanyRow>(COMPANY_BY_ID, [id]));
          },
          { timeout: 'none' },
        );
        return company;
      },

      readUsers: (companyId, afterId, limit) =>
        read(() => query<User>(USERS_AFTER, [companyId, afterId ?? '', limit]), { timeout: 'none' }),
    },
  };
}

function* applyOrganisation(
  sql: Statements,
  organisation: Organisation,
  options?: ApplyOptions,
): SqlTask<ApplyOutcome> {
  yield* lock(LOCK_USERS);
  const difference = new OrganisationDifference(yield* readStored(sql, organisation), organisation, options);
  const { conflicts } = difference;
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  yield* queryInChunks(sql.addCompanies, difference.companies.changed);
  yield* queryInChunks(sql.putStatuses, difference.statuses.changed);
  yield* queryInChunks(sql.putBranches, difference.branches.changed);
  yield* queryInChunks(sql.putDepartments, difference.departments.changed);
  const keptStatuses = yield* changeUnderLock(sql, difference);
  // After the locks of companies, as in every request that sends leads: the users are locked by a trigger.
  yield* queryInChunks(sql.putUsers, difference.users.changed);
  return difference.outcome(keptStatuses);
}

/** The stored rows of the companies of the file, and of its users. */
function* readStored(sql: Statements, { companies }: Organisation): SqlTask<StoredOrganisation> {
  const companyIds = companies.map(({ id }) => byId(id));
  const userIds = companies.flatMap(({ users }) => users.map(({ id }) => byId(id)));
  return {
    companies: yield* queryInChunks<CompanyRow>(sql.findCompanies, companyIds),
    statuses: yield* readStatuses(sql, companyIds),
    branches: yield* queryInChunks<BranchRow>(sql.findBranches, companyIds),
    departments: yield* queryInChunks<DepartmentRow>(sql.findDepartments, companyIds),
    users: yield* queryInChunks<User>(sql.findUsers, userIds),
  };
}

function* readStatuses(sql: Statements, companyIds: readonly object[]): SqlTask<StatusRow[]> {
  const rows = yield* queryInChunks<StatusRow>(sql.findStatuses, companyIds);
  return rows.map((row) => ({ ...row, final: Boolean(row.final) }));
}

/**
 * The changes that block transactions that add leads: those update the row of the company and use its first status. Made late, under
 * the locks of the companies, so that the wait is short and there is no deadlock. Returns the dropped statuses that stay.
 */
function* changeUnderLock(
  sql: Statements,
  { companies, dropped }: OrganisationDifference,
): SqlTask<ReadonlySet<DroppedStatus>> {
  const renamed = companies.changed.filter(({ id }) => companies.find(id));
  const companyIds = new Set([...renamed.map(({ id }) => id), ...dropped.map(({ companyId }) => companyId)]);
  if (companyIds.size > 0) yield* lock('SELECT leadtap.lock_companies($1)', [[...companyIds]]);
  yield* queryInChunks(sql.putCompanies, renamed);
  return yield* dropStatuses(sql, dropped);
}

/**
 * Removes statuses without leads. No index finds the leads of a status: it would make every new lead a tenth more expensive. So a
 * status without leads costs two scans of all leads of the company, this one and the foreign key check of the database.
 */
function* dropStatuses(
  sql: Statements,
  dropped: readonly DroppedStatus[],
): SqlTask<ReadonlySet<DroppedStatus>> {
  yield* queryInChunks(sql.lockStatuses, dropped);
  const removed = yield* queryInChunks<StatusOfCompany>(sql.removeStatuses, dropped);
  yield* queryInChunks(sql.moveStatuses, dropped);
  const removedKeys = new Set(removed.map(({ companyId, value }) => idInCompany(companyId, value)));
  return new Set(dropped.filter(({ companyId, value }) => !removedKeys.has(idInCompany(companyId, value))));
}

/** Departments before branches: the branch of each then exists, because no branch is ever removed. */
function* readPlaces(sql: Statements, companies: readonly CompanyRow[]): SqlTask<StoredCompany[]> {
  const companyIds = companies.map(({ id }) => byId(id));
  const departments = groupBy(
    yield* queryInChunks<DepartmentRow>(sql.findDepartments, companyIds),
    ({ companyId, branchId }) => idInCompany(companyId, branchId),
  );
  const branches = groupBy(
    yield* queryInChunks<BranchRow>(sql.findBranches, companyIds),
    ({ companyId }) => companyId,
  );
  const statuses = groupBy(yield* readStatuses(sql, companyIds), ({ companyId }) => companyId);
  return companies.map((company) => ({
    ...company,
    statuses: (statuses.get(company.id) ?? [])
      .sort((a, b) => a.position - b.position)
      .map(({ value, label, color, final }) => ({ value, label, color, final })),
    branches: (branches.get(company.id) ?? []).map(({ id, name }) => ({
      id,
      name,
      departments: (departments.get(idInCompany(company.id, id)) ?? []).map(({ id, name }) => ({ id, name })),
    })),
  }));
}

function groupBy<Row>(rows: readonly Row[], groupOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(groupOf(row));
    if (group) group.push(row);
    else groups.set(groupOf(row), [row]);
  }
  return groups;
}
