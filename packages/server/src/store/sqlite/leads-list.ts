/** Leads for the operator: lists over all companies, and leads by their id. */
import { END_OF_TIME, type StoredLeadRow, toStoredLead } from '../lead-row.ts';
import type { StoredLead } from '../records.ts';
import type { CompanyName, LeadListQuery } from '../store.ts';
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

/**
 * Reads the first keys of each company, a range of its primary key, then sorts them: no index sorts the leads of all companies.
 * A company that sorts after the last lead of the page before may have a lead of the same millisecond.
 */
const listSql = (comparison: '>' | '<', inclusive: string, direction: 'ASC' | 'DESC') => `
  SELECT ${STORED_COLUMNS}
    FROM (SELECT o.id AS company_id, k.value AS created_at
            FROM companies AS o
            CROSS JOIN json_each((SELECT json_group_array(created_at) FROM (
              SELECT i.created_at FROM leads AS i
               WHERE i.company_id = o.id
                 AND i.created_at ${comparison} CASE WHEN o.id ${comparison} ?2 THEN ${inclusive} ELSE ?3 END
               ORDER BY i.created_at ${direction} LIMIT ?4))) AS k
           WHERE ?1 IS NULL OR o.id = ?1
           ORDER BY k.value ${direction}, o.id ${direction} LIMIT ?4) AS page
    CROSS JOIN leads AS l ON l.company_id = page.company_id AND l.created_at = page.created_at
    CROSS JOIN companies AS c ON c.id = l.company_id ${NAMES}
   ORDER BY page.created_at ${direction}, page.company_id ${direction}`;

const decode = (row: StoredLeadRow): StoredLead => toStoredLead(row, decodeLead(row));

export function prepareLists(connection: Connection) {
  const find = connection.prepare<StoredLeadRow>(FIND_LEADS);
  const following = connection.prepare<StoredLeadRow>(listSql('>', '?3 - 1', 'ASC'));
  const newest = connection.prepare<StoredLeadRow>(listSql('<', '?3 + 1', 'DESC'));
  const companies = connection.prepare<CompanyName>(
    'SELECT id, name FROM companies WHERE id > ? ORDER BY id LIMIT ?',
  );
  return {
    /** A driver may cut a text at its first NUL, so the ids of the rows are compared, too. */
    findLeads: (id: string, companyId?: string): StoredLead[] =>
      find
        .all(companyId ?? null, id)
        .map(decode)
        .filter((found) => found.lead.id === id && found.companyId === (companyId ?? found.companyId)),
    listLeads({ companyId, since, after, limit }: LeadListQuery): StoredLead[] {
      const statement = since === undefined ? newest : following;
      const from = after?.createdAt ?? since ?? END_OF_TIME;
      const rows = statement.all(companyId ?? null, after?.companyId ?? null, from, limit);
      return rows.map(decode).filter((found) => found.companyId === (companyId ?? found.companyId));
    },
    /** Every id sorts after the empty string. */
    listCompanies: (afterId: string | undefined, limit: number): CompanyName[] =>
      companies.all(afterId ?? '', limit).map(({ id, name }) => ({ id, name })),
  };
}
