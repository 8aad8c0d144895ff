/** Leads for the operator in a database: lists over all companies, and leads by their id. */

import {
  AFTER_ALL_TIMES,
  BEFORE_ALL_TIMES,
  type Dialect,
  isStorable,
  query,
  type SqlDatabase,
  type SqlTask,
} from '../sql/sql.ts';
import { firstStep, type ListOrder, NEWEST_FIRST, nextStep, OLDEST_FIRST } from './list-steps.ts';
import type { LeadRecord, StoredLead } from './record.ts';
import { LEAD_COLUMNS, type StoredLeadRow, toStoredLead } from './row.ts';
import { createLeadSearch } from './search-sql.ts';
import type { LeadStore } from './store.ts';

/** Of the lead `l` in its company `c`, for SELECT, with `joinNames` in FROM. */
export const STORED_COLUMNS = [
  ...['l.company_id', 'l.branch_id', 'l.department_id'],
  ...LEAD_COLUMNS.map(({ column, kind }) =>
    kind === 'time' ? `leadtap.to_ms(l.${column}) AS ${column}` : `l.${column}`,
  ),
  ...['s.label AS status_label', 's.color AS status_color', 's.final AS status_final'],
  ...['c.name AS company_name', 'b.name AS branch_name', 'd.name AS department_name'],
].join(', ');

export const joinNames = ({ joinEach }: Dialect): string => `
  ${joinEach('statuses', 's', 's.company_id = l.company_id AND s.value = l.status_value')}
  LEFT JOIN leadtap.branches AS b ON b.company_id = l.company_id AND b.id = l.branch_id
  LEFT JOIN leadtap.departments AS d ON d.company_id = l.company_id AND d.id = l.department_id`;

/** One search of the index for each company, because ids are unique within a company only. The values: company or null, id. */
const findSql = (dialect: Dialect): string => `
  SELECT ${STORED_COLUMNS} FROM leadtap.companies AS c
    ${dialect.joinEach('leads', 'l', 'l.company_id = c.id AND l.id = $2', 'leads_by_id')} ${joinNames(dialect)}
   WHERE CAST($1 AS text) IS NULL OR c.id = $1 ORDER BY c.id`;

const FIND_HISTORY = `
  SELECT leadtap.to_ms(l.created_at) AS "createdAt" FROM leadtap.leads AS l
   WHERE l.company_id = $1 AND l.created_at >= leadtap.from_ms($2) AND l.created_at <= leadtap.from_ms($3)
     AND l.created_at <> l.automation_created_at AND l.automation_created_at > leadtap.from_ms($4)
   ORDER BY l.created_at LIMIT 1000`;

/** The `createdAt` of imported history of these times that was added after `addedAfter`. */
export function* findHistory(
  companyId: string,
  {
    from,
    through,
    addedAfter,
  }: { readonly from: number; readonly through: number; readonly addedAfter: number },
): SqlTask<number[]> {
  const rows = yield* query<{ createdAt: number }>(FIND_HISTORY, [companyId, from, through, addedAfter]);
  return rows.map(({ createdAt }) => createdAt);
}

/** Whole leads from a join that has them as `l`. */
const readSql = (dialect: Dialect, leads: string): string => `
  SELECT ${STORED_COLUMNS} FROM ${leads}
    ${dialect.joinEach('companies', 'c', 'c.id = l.company_id')} ${joinNames(dialect)}`;

/** The keys of a company after the last lead of the page before. A company that sorts after it may have a lead of the same time. */
const keysOf = (company: 'company' | 'any_company', { after, oneBack }: ListOrder): string => `
  SELECT i.created_at AS value FROM leadtap.leads AS i
   WHERE i.company_id = ${company}.id AND i.created_at ${after} leadtap.from_ms(
     CASE WHEN ${company}.id ${after} $2 THEN CAST($3 AS bigint) ${oneBack} ELSE CAST($3 AS bigint) END)`;

/** Up to this time, no company has more than `lookahead` + 1 leads. Null if none has that many. */
const horizonSql = (order: ListOrder): string => `
  SELECT ${order.nearest}((
    ${keysOf('any_company', order)} ORDER BY i.created_at ${order.direction} LIMIT 1 OFFSET $5)) AS at
    FROM leadtap.companies AS any_company`;

const isUpToHorizon = ({ upTo, direction }: ListOrder): string =>
  `i.created_at ${upTo} coalesce((SELECT at FROM horizon), ${direction === 'ASC' ? AFTER_ALL_TIMES : BEFORE_ALL_TIMES})`;

/**
 * No index sorts the leads of all companies. So the first keys of each company are read, a range of its primary key, and sorted. With
 * a lookahead, the horizon bounds how many: with 1,000 companies, a page of 500 leads takes 130 ms instead of 500 ms if their leads
 * arrive in turns. The values: company or null, company and time of the last lead before, limit, lookahead.
 */
function listSql(dialect: Dialect, order: ListOrder, hasLookahead: boolean): string {
  const { direction } = order;
  const keys = `${keysOf('company', order)} ${hasLookahead ? `AND ${isUpToHorizon(order)}` : ''}
    ORDER BY i.created_at ${direction} LIMIT $4`;
  return `
    ${hasLookahead ? `WITH horizon AS MATERIALIZED (${horizonSql(order)})` : ''}
    SELECT ${STORED_COLUMNS} FROM (
      SELECT company.id AS company_id, k.value AS created_at FROM leadtap.companies AS company
        ${dialect.joinValues(keys, 'k')}
       WHERE CAST($1 AS text) IS NULL OR company.id = $1
       ORDER BY k.value ${direction}, company.id ${direction} LIMIT $4) AS page
    ${dialect.joinEach('leads', 'l', 'l.company_id = page.company_id AND l.created_at = page.created_at')}
    ${dialect.joinEach('companies', 'c', 'c.id = l.company_id')} ${joinNames(dialect)}
    ORDER BY page.created_at ${direction}, page.company_id ${direction}`;
}

const prepareSql = (dialect: Dialect) => ({
  find: findSql(dialect),
  newest: { all: listSql(dialect, NEWEST_FIRST, false), some: listSql(dialect, NEWEST_FIRST, true) },
  following: { all: listSql(dialect, OLDEST_FIRST, false), some: listSql(dialect, OLDEST_FIRST, true) },
});

/** `decode` reads a row as the database has it. */
export function createLeadLists(
  database: SqlDatabase,
  decode: (row: StoredLeadRow) => LeadRecord,
): Pick<LeadStore, 'listLeads' | 'findLeads' | 'searchLeads'> {
  const { dialect, read } = database;
  const sql = prepareSql(dialect);
  const toLead = (row: StoredLeadRow): StoredLead => toStoredLead(row, decode(row));
  return {
    ...createLeadSearch(database, (leads) => readSql(dialect, leads), toLead),

    async findLeads(id, companyId) {
      if (!isStorable(id) || !isStorable(companyId ?? '')) return [];
      const rows = await read(() => query<StoredLeadRow>(sql.find, [companyId ?? null, id]));
      return rows.map(toLead);
    },

    async listLeads(list) {
      const { companyId = null, since } = list;
      if (!isStorable(companyId ?? '')) return [];
      const statements = since === undefined ? sql.newest : sql.following;
      return read(function* () {
        const leads: StoredLead[] = [];
        for (let next = firstStep(list); next !== undefined; next = nextStep(next, list, leads)) {
          const { afterCompany, afterTime, limit, lookahead } = next;
          const values = [companyId, afterCompany, afterTime, limit];
          const rows =
            lookahead === null
              ? yield* query<StoredLeadRow>(statements.all, values)
              : yield* query<StoredLeadRow>(statements.some, [...values, lookahead]);
          leads.push(...rows.map(toLead));
        }
        return leads;
      });
    },
  };
}
