/** Leads for the operator: lists over all companies, and leads by their id. */
import { firstStep, type ListOrder, NEWEST_FIRST, nextStep, OLDEST_FIRST } from '../lead-list.ts';
import { type StoredLeadRow, toStoredLead } from '../lead-row.ts';
import type { StoredLead } from '../records.ts';
import type { LeadCount, LeadListQuery } from '../store.ts';
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

/** The keys of a company after the last lead of the page before. A company that sorts after it may have a lead of the same time. */
const keysSql = (order: ListOrder) => `
  SELECT i.created_at FROM leads AS i
   WHERE i.company_id = o.id
     AND i.created_at ${order.after} CASE WHEN o.id ${order.after} ?2 THEN ?3 ${order.oneBack} ELSE ?3 END`;

/**
 * No index sorts the leads of all companies. So the first keys of each company are read, a range of its primary key, and sorted.
 * `?5` bounds how many: up to the horizon, no company has more than `?5` + 1 leads. With 1,000 companies, a page of 500
 * leads takes 130 ms instead of 500 ms if their leads arrive in turns.
 */
const listSql = (order: ListOrder) => `
  SELECT ${STORED_COLUMNS}
    FROM (SELECT o.id AS company_id, k.value AS created_at
            FROM companies AS o
            CROSS JOIN json_each((SELECT json_group_array(created_at) FROM (
              ${keysSql(order)}
                 AND (?5 IS NULL OR i.created_at ${order.upTo} coalesce((
                   SELECT ${order.nearest}((${keysSql(order)} ORDER BY i.created_at ${order.direction} LIMIT 1 OFFSET ?5))
                     FROM companies AS o), i.created_at))
               ORDER BY i.created_at ${order.direction} LIMIT ?4))) AS k
           WHERE ?1 IS NULL OR o.id = ?1
           ORDER BY k.value ${order.direction}, o.id ${order.direction} LIMIT ?4) AS page
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
        const rows = statement.all(companyId, next.afterCompany, next.from, next.limit, next.lookahead);
        leads.push(...rows.map(decode).filter((found) => found.companyId === (companyId ?? found.companyId)));
      }
      return leads;
    },
  };
}
