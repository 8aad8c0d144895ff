/** Leads for the operator in a database: lists over all companies, and leads by their id. */

import {
  AFTER_ALL_MS,
  AFTER_ALL_TIMES,
  BEFORE_ALL_TIMES,
  type Dialect,
  isStorable,
  query,
  type SqlDatabase,
  type SqlTask,
} from '../sql/sql.ts';
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

/** The parts of SQL that differ between the two orders of a list. */
interface ListOrder {
  readonly direction: 'ASC' | 'DESC';
  readonly after: '>' | '<';
  readonly upTo: '<=' | '>=';
  /** Of a time: the one before it, in milliseconds. What is after that has the same time, or is after it. */
  readonly oneBack: '- 1' | '+ 1';
  /** Of several times, the one that comes first. */
  readonly nearest: 'min' | 'max';
  readonly end: string;
}

const OLDEST_FIRST: ListOrder = {
  ...{ direction: 'ASC', after: '>', upTo: '<=', oneBack: '- 1', nearest: 'min', end: AFTER_ALL_TIMES },
};
const NEWEST_FIRST: ListOrder = {
  ...{ direction: 'DESC', after: '<', upTo: '>=', oneBack: '+ 1', nearest: 'max', end: BEFORE_ALL_TIMES },
};

/** Each further step of a list reads more: a company with most of the leads would need many, and each of them reads every company. */
const FIRST_LOOKAHEAD = 32;
const LOOKAHEAD_GROWTH = 4;

/** The keys of a company after the last lead of the page before. A company that sorts after it may have a lead of the same time. */
const keysOf = ({ after, oneBack }: ListOrder): string => `
  SELECT i.created_at AS value FROM leadtap.leads AS i
   WHERE i.company_id = company.id AND i.created_at ${after} leadtap.from_ms(
     CASE WHEN company.id ${after} $2 THEN CAST($3 AS bigint) ${oneBack} ELSE CAST($3 AS bigint) END)`;

const COMPANIES = 'leadtap.companies AS company WHERE (CAST($1 AS text) IS NULL OR company.id = $1)';

/**
 * No index sorts the leads of all companies. So the first keys of each company are read, a range of its primary key, and sorted. The
 * horizon bounds how many: up to this time, no company has more than `lookahead` + 1 leads. With 1,000 companies, a page of 500 leads
 * takes 130 ms instead of 500 ms if their leads arrive in turns. The values: company or null, company and time of the last lead before,
 * limit, lookahead.
 */
function listSql(dialect: Dialect, order: ListOrder): string {
  const { direction, upTo, nearest, end } = order;
  const sorted = `ORDER BY i.created_at ${direction}`;
  const keys = `${keysOf(order)} AND i.created_at ${upTo} coalesce((SELECT at FROM horizon), ${end}) ${sorted} LIMIT $4`;
  return `
    WITH horizon AS MATERIALIZED (
      SELECT ${nearest}((${keysOf(order)} ${sorted} LIMIT 1 OFFSET $5)) AS at FROM ${COMPANIES})
    SELECT ${STORED_COLUMNS} FROM (
      SELECT company.id AS company_id, k.value AS created_at FROM leadtap.companies AS company
        ${dialect.joinValues(keys, 'k')}
       WHERE CAST($1 AS text) IS NULL OR company.id = $1
       ORDER BY k.value ${direction}, company.id ${direction} LIMIT $4) AS page
    ${dialect.joinEach('leads', 'l', 'l.company_id = page.company_id AND l.created_at = page.created_at')}
    ${dialect.joinEach('companies', 'c', 'c.id = l.company_id')} ${joinNames(dialect)}
    ORDER BY page.created_at ${direction}, page.company_id ${direction}`;
}

/** `decode` reads a row as the database has it. */
export function createLeadLists(
  database: SqlDatabase,
  decode: (row: StoredLeadRow) => LeadRecord,
): Pick<LeadStore, 'listLeads' | 'findLeads' | 'searchLeads'> {
  const { dialect, read } = database;
  const find = findSql(dialect);
  const newest = listSql(dialect, NEWEST_FIRST);
  const following = listSql(dialect, OLDEST_FIRST);
  const toLead = (row: StoredLeadRow): StoredLead => toStoredLead(row, decode(row));
  return {
    ...createLeadSearch(database, (leads) => readSql(dialect, leads), toLead),

    async findLeads(id, companyId) {
      if (!isStorable(id) || !isStorable(companyId ?? '')) return [];
      const rows = await read(() => query<StoredLeadRow>(find, [companyId ?? null, id]));
      return rows.map(toLead);
    },

    async listLeads({ companyId = null, since, after, limit }) {
      if (!isStorable(companyId ?? '')) return [];
      return read(function* () {
        const leads: StoredLead[] = [];
        let [lastCompany, lastTime] = [after?.companyId ?? null, after?.createdAt ?? since ?? AFTER_ALL_MS];
        for (let lookahead = FIRST_LOOKAHEAD; leads.length < limit; lookahead *= LOOKAHEAD_GROWTH) {
          const values = [companyId, lastCompany, lastTime, limit - leads.length, lookahead];
          const rows = yield* query<StoredLeadRow>(since === undefined ? newest : following, values);
          leads.push(...rows.map(toLead));
          const last = leads.at(-1);
          if (rows.length === 0 || last === undefined) break;
          [lastCompany, lastTime] = [last.companyId, last.lead.createdAt];
        }
        return leads;
      });
    },
  };
}
