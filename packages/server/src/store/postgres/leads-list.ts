/** Leads for the operator: lists over all companies, and leads by their id. */
import { END_OF_TIME, LEAD_COLUMNS, type StoredLeadRow, toStoredLead } from '../lead-row.ts';
import type { CompanyName, Store } from '../store.ts';
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

/**
 * Reads the first keys of each company, a range of its primary key, then sorts them: no index sorts the leads of all companies.
 * A company that sorts after the last lead of the page before may have a lead of the same millisecond.
 */
const listSql = (comparison: '>' | '<', inclusive: string, direction: 'ASC' | 'DESC') => `
  SELECT ${STORED_COLUMNS} FROM (
    SELECT o.id AS company_id, k.created_at FROM leadtap.companies AS o
     CROSS JOIN LATERAL (SELECT i.created_at FROM leadtap.leads AS i WHERE i.company_id = o.id
        AND i.created_at ${comparison} leadtap.from_ms(CASE WHEN o.id ${comparison} $2::text THEN ${inclusive} ELSE $3 END)
      ORDER BY i.created_at ${direction} LIMIT $4) AS k
     WHERE $1::text IS NULL OR o.id = $1
     ORDER BY k.created_at ${direction}, o.id ${direction} LIMIT $4) AS page
  CROSS JOIN LATERAL (SELECT * FROM leadtap.leads AS o
    WHERE o.company_id = page.company_id AND o.created_at = page.created_at LIMIT 1) AS l
  JOIN leadtap.companies AS c ON c.id = l.company_id ${NAMES}
  ORDER BY page.created_at ${direction}, page.company_id ${direction}`;

const FOLLOWING = listSql('>', '$3::bigint - 1', 'ASC');
const NEWEST = listSql('<', '$3::bigint + 1', 'DESC');

/** As for polls: a table without statistics, after a bulk load for one, would be read and sorted as a whole. */
const INDEX_SCANS = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`;

type ListMethods = Pick<Store, 'listLeads' | 'findLeads' | 'listCompanies'>;

export function listMethods(database: Database): ListMethods {
  const read = async (text: string, values: readonly (string | number | null)[]) => {
    const rows = await database.transaction(async (session) => {
      await session.query(INDEX_SCANS);
      return session.query<StoredLeadRow>(text, values);
    });
    return rows.map((row) => toStoredLead(row));
  };
  return {
    async findLeads(id, companyId) {
      if (!isStorable(id) || !isStorable(companyId ?? '')) return [];
      const found = await read(FIND_LEADS, [companyId ?? null, id]);
      // The driver replaces a lone surrogate by U+FFFD, which may be the id of another lead.
      return found.filter(({ lead }) => lead.id === id);
    },

    async listLeads({ companyId, since, after, limit }) {
      if (!isStorable(companyId ?? '')) return [];
      const from = after?.createdAt ?? since ?? END_OF_TIME;
      const values = [companyId ?? null, after?.companyId ?? null, from, limit];
      return read(since === undefined ? NEWEST : FOLLOWING, values);
    },

    /** Every id sorts after the empty string. */
    listCompanies: (afterId, limit) =>
      database.query<CompanyName>(
        'SELECT id, name FROM leadtap.companies WHERE id > $1 ORDER BY id LIMIT $2',
        [afterId ?? '', limit],
      ),
  };
}
