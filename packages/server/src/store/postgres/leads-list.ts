/** Leads for the operator: lists over all companies, and leads by their id. */

import type { StoredLead } from '../../leads/record.ts';
import { LEAD_COLUMNS, type StoredLeadRow, toStoredLead } from '../../leads/row.ts';
import type { LeadCount } from '../../leads/store.ts';
import { firstStep, type ListOrder, NEWEST_FIRST, nextStep, OLDEST_FIRST } from '../list-steps.ts';
import type { Store } from '../store.ts';
import { type Database, isStorable } from './connection.ts';

const STORED_COLUMNS = [
  ...['l.company_id', 'l.branch_id', 'l.department_id'],
  ...LEAD_COLUMNS.map(({ column, kind }) =>
    kind === 'time' ? `leadtap.to_ms(l.${column}) AS ${column}` : `l.${column}`,
  ),
  ...['s.label AS status_label', 's.color AS status_color', 's.final AS status_final'],
  ...['c.name AS company_name', 'b.name AS branch_name', 'd.name AS department_name'],
].join(', ');

const NAMES = `
  JOIN leadtap.statuses AS s ON s.company_id = l.company_id AND s.value = l.status_value
  LEFT JOIN leadtap.branches AS b ON b.company_id = l.company_id AND b.id = l.branch_id
  LEFT JOIN leadtap.departments AS d ON d.company_id = l.company_id AND d.id = l.department_id`;

/** One search of the index for each company, because ids are unique within a company only. */
const FIND_LEADS = `SELECT ${STORED_COLUMNS} FROM leadtap.companies AS c
  CROSS JOIN LATERAL (SELECT * FROM leadtap.leads AS o WHERE o.company_id = c.id AND o.id = $2 LIMIT 1) AS l
  ${NAMES} WHERE $1::text IS NULL OR c.id = $1 ORDER BY c.id`;

/** The parameters of a list. */
const P = {
  company: '$1::text',
  afterCompany: '$2::text',
  afterTime: '$3::bigint',
  limit: '$4',
  lookahead: '$5::bigint',
};

/** The keys of a company after the last lead of the page before. A company that sorts after it may have a lead of the same time. */
const keysOf = (company: 'company' | 'any_company', { after, oneBack }: ListOrder) => `
  SELECT i.created_at FROM leadtap.leads AS i
   WHERE i.company_id = ${company}.id AND i.created_at ${after} leadtap.from_ms(
     CASE WHEN ${company}.id ${after} ${P.afterCompany} THEN ${P.afterTime} ${oneBack} ELSE ${P.afterTime} END)`;

/** Up to this time, no company has more than `lookahead` + 1 leads. Null if none has that many. */
const horizonSql = (order: ListOrder) => `
  SELECT ${order.nearest}(k.created_at) AS at FROM leadtap.companies AS any_company
   CROSS JOIN LATERAL (
     ${keysOf('any_company', order)} ORDER BY i.created_at ${order.direction} LIMIT 1 OFFSET ${P.lookahead}) AS k
   WHERE ${P.lookahead} IS NOT NULL`;

const endOf = ({ direction }: ListOrder) => (direction === 'ASC' ? `'infinity'` : `'-infinity'`);

/** The first keys of a company, none after the horizon. */
const keysToHorizon = (order: ListOrder) => `
  ${keysOf('company', order)}
     AND i.created_at ${order.upTo} coalesce((SELECT at FROM horizon), ${endOf(order)})
   ORDER BY i.created_at ${order.direction} LIMIT ${P.limit}`;

/**
 * No index sorts the leads of all companies. So the first keys of each company are read, a range of its primary key, and sorted.
 * The horizon bounds how many.
 */
const listSql = (order: ListOrder) => `
  WITH horizon AS MATERIALIZED (${horizonSql(order)})
  SELECT ${STORED_COLUMNS} FROM (
    SELECT company.id AS company_id, k.created_at FROM leadtap.companies AS company
     CROSS JOIN LATERAL (${keysToHorizon(order)}) AS k
     WHERE ${P.company} IS NULL OR company.id = ${P.company}
     ORDER BY k.created_at ${order.direction}, company.id ${order.direction} LIMIT ${P.limit}) AS page
  CROSS JOIN LATERAL (SELECT * FROM leadtap.leads AS o
    WHERE o.company_id = page.company_id AND o.created_at = page.created_at LIMIT 1) AS l
  JOIN leadtap.companies AS c ON c.id = l.company_id ${NAMES}
  ORDER BY page.created_at ${order.direction}, page.company_id ${order.direction}`;

const FOLLOWING = listSql(OLDEST_FIRST);
const NEWEST = listSql(NEWEST_FIRST);

const COUNT_BY_MINUTE = `
  SELECT leadtap.to_ms(l.created_at) / 60000 * 60000 AS minute, count(*) AS count FROM leadtap.companies AS c
    JOIN leadtap.leads AS l ON l.company_id = c.id AND l.created_at >= leadtap.from_ms($1) AND l.created_at < leadtap.from_ms($2)
   GROUP BY 1 ORDER BY 1`;
/** The status page shows the rest without the counts if they take longer. */
const COUNT_TIMEOUTS = { statementTimeoutMs: 5000, lockTimeoutMs: 2000 };

/** As for polls: a table without statistics, after a bulk load for one, would be read and sorted as a whole. */
const INDEX_SCANS = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`;

type ListMethods = Pick<Store, 'listLeads' | 'findLeads' | 'countLeadsByMinute'>;

export function listMethods(database: Database): ListMethods {
  const read = async (text: string, values: readonly (string | number | null)[]) => {
    const rows = await database.transaction(async (session) => {
      await session.query(INDEX_SCANS);
      return session.query<StoredLeadRow>(text, values);
    });
    return rows.map((row) => toStoredLead(row));
  };
  return {
    countLeadsByMinute: (from, until) =>
      database.transaction(async (session) => {
        await session.query(INDEX_SCANS);
        return session.query<LeadCount>(COUNT_BY_MINUTE, [from, until]);
      }, COUNT_TIMEOUTS),

    async findLeads(id, companyId) {
      if (!isStorable(id) || !isStorable(companyId ?? '')) return [];
      const found = await read(FIND_LEADS, [companyId ?? null, id]);
      // The driver replaces a lone surrogate by U+FFFD, which may be the id of another lead.
      return found.filter(({ lead }) => lead.id === id);
    },

    async listLeads(query) {
      const { companyId = null } = query;
      const leads: StoredLead[] = [];
      if (!isStorable(companyId ?? '')) return leads;
      const text = query.since === undefined ? NEWEST : FOLLOWING;
      for (let next = firstStep(query); next !== undefined; next = nextStep(next, query, leads))
        leads.push(
          ...(await read(text, [companyId, next.afterCompany, next.afterTime, next.limit, next.lookahead])),
        );
      return leads;
    },
  };
}
