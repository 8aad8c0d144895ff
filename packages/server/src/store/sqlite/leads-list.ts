/** Leads for the operator: lists over all companies, and leads by their id. */

import type { StoredLead } from '../../leads/record.ts';
import { type StoredLeadRow, toStoredLead } from '../../leads/row.ts';
import type { LeadCount, LeadListQuery } from '../../leads/store.ts';
import { firstStep, type ListOrder, NEWEST_FIRST, nextStep, OLDEST_FIRST } from '../list-steps.ts';
import type { Connection } from './connection.ts';
import { decodeLead, PAGE_COLUMNS } from './lead-columns.ts';

const STORED_COLUMNS = `l.company_id, l.branch_id, l.department_id, ${PAGE_COLUMNS}`;

const NAMES = `
    CROSS JOIN statuses AS s ON s.company_id = l.company_id AND s.value = l.status_value
    LEFT JOIN branches AS b ON b.company_id = l.company_id AND b.id = l.branch_id
    LEFT JOIN departments AS d ON d.company_id = l.company_id AND d.id = l.department_id`;

/** One search of the index for each company, because ids are unique within a company only. */
const FIND_LEADS = `
  SELECT ${STORED_COLUMNS}
    FROM companies AS c
    CROSS JOIN leads AS l INDEXED BY leads_by_id ON l.company_id = c.id AND l.id = ?2 ${NAMES}
   WHERE ?1 IS NULL OR c.id = ?1
   ORDER BY c.id`;

/** The parameters of a list. */
const P = { company: '?1', afterCompany: '?2', afterTime: '?3', limit: '?4', lookahead: '?5' };

/** The keys of a company after the last lead of the page before. A company that sorts after it may have a lead of the same time. */
const keysOf = (company: 'company' | 'any_company', { after, oneBack }: ListOrder) => `
  SELECT i.created_at FROM leads AS i
   WHERE i.company_id = ${company}.id AND i.created_at ${after}
     CASE WHEN ${company}.id ${after} ${P.afterCompany} THEN ${P.afterTime} ${oneBack} ELSE ${P.afterTime} END`;

/** Up to this time, no company has more than `lookahead` + 1 leads. Null if none has that many. */
const horizonSql = (order: ListOrder) => `
  SELECT ${order.nearest}((
    ${keysOf('any_company', order)} ORDER BY i.created_at ${order.direction} LIMIT 1 OFFSET ${P.lookahead}))
    FROM companies AS any_company`;

/** The first keys of a company, none after the horizon. */
const keysToHorizon = (order: ListOrder) => `
  ${keysOf('company', order)}
     AND (${P.lookahead} IS NULL OR i.created_at ${order.upTo} coalesce((${horizonSql(order)}), i.created_at))
   ORDER BY i.created_at ${order.direction} LIMIT ${P.limit}`;

/** SQLite has no LATERAL: the keys of each company as an array, and its items as rows. */
const eachOf = (keys: string) => `json_each((SELECT json_group_array(created_at) FROM (${keys})))`;

/**
 * No index sorts the leads of all companies. So the first keys of each company are read, a range of its primary key, and sorted.
 * The horizon bounds how many. With 1,000 companies, a page of 500 leads takes 130 ms instead of 500 ms if their leads arrive in
 * turns.
 */
const listSql = (order: ListOrder) => `
  SELECT ${STORED_COLUMNS}
    FROM (SELECT company.id AS company_id, k.value AS created_at
            FROM companies AS company
            CROSS JOIN ${eachOf(keysToHorizon(order))} AS k
           WHERE ${P.company} IS NULL OR company.id = ${P.company}
           ORDER BY k.value ${order.direction}, company.id ${order.direction} LIMIT ${P.limit}) AS page
    CROSS JOIN leads AS l ON l.company_id = page.company_id AND l.created_at = page.created_at
    CROSS JOIN companies AS c ON c.id = l.company_id ${NAMES}
   ORDER BY page.created_at ${order.direction}, page.company_id ${order.direction}`;

/** Companies without new leads are skipped by their last stamp, so the cost does not grow with the number of all leads. */
const COUNT_BY_MINUTE = `
  SELECT l.created_at / 60000 * 60000 AS minute, count(*) AS count
    FROM companies AS c
    CROSS JOIN leads AS l ON l.company_id = c.id AND l.created_at >= ?1 AND l.created_at < ?2
   WHERE c.last_stamp >= ?1
   GROUP BY 1 ORDER BY 1`;

const decode = (row: StoredLeadRow): StoredLead => toStoredLead(row, decodeLead(row));

export function prepareLists(connection: Connection) {
  const find = connection.prepare<StoredLeadRow>(FIND_LEADS);
  const following = connection.prepare<StoredLeadRow>(listSql(OLDEST_FIRST));
  const newest = connection.prepare<StoredLeadRow>(listSql(NEWEST_FIRST));
  const countByMinute = connection.prepare<LeadCount>(COUNT_BY_MINUTE);
  return {
    countLeadsByMinute: (from: number, until: number): LeadCount[] => countByMinute.all(from, until),
    /** A driver may cut a text at its first NUL, so the ids of the rows are compared, too. */
    findLeads: (id: string, companyId?: string): StoredLead[] =>
      find
        .all(companyId ?? null, id)
        .map(decode)
        .filter((found) => found.lead.id === id && found.companyId === (companyId ?? found.companyId)),
    listLeads(query: LeadListQuery): StoredLead[] {
      const { companyId = null } = query;
      const statement = query.since === undefined ? newest : following;
      const leads: StoredLead[] = [];
      for (let next = firstStep(query); next !== undefined; next = nextStep(next, query, leads)) {
        const rows = statement.all(companyId, next.afterCompany, next.afterTime, next.limit, next.lookahead);
        leads.push(...rows.map(decode).filter((found) => found.companyId === (companyId ?? found.companyId)));
      }
      return leads;
    },
  };
}
