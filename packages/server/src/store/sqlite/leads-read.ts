import { type LeadScope, placeOf } from '../../leads/record.ts';
import type { PageQuery } from '../../poll/store.ts';
import type { Connection, SqlValue } from './connection.ts';

interface ScopeFilter {
  readonly index: string;
  readonly condition: string;
}

/**
 * The indexes are named because SQLite has no statistics about the leads of a branch. It would choose the primary key and
 * read all leads of the company to find those of one branch.
 */
const SCOPE_FILTERS: Record<LeadScope['level'], ScopeFilter> = {
  COMPANY: { index: '', condition: '' },
  BRANCH: { index: 'INDEXED BY leads_by_branch', condition: 'AND l.branch_id = ?' },
  DEPARTMENT: { index: 'INDEXED BY leads_by_department', condition: 'AND l.department_id = ?' },
};

/**
 * One range scan of one index for each access level and direction, without a sort. The names are joined by primary key, so
 * that the next poll has the new name of a branch.
 */
const pageSql = (columns: string, { index, condition }: ScopeFilter, direction: 'newest' | 'following') => `
  SELECT ${columns}
    FROM leads AS l ${index}
    CROSS JOIN companies AS c ON c.id = l.company_id
    CROSS JOIN statuses AS s ON s.company_id = l.company_id AND s.value = l.status_value
    LEFT JOIN branches AS b ON b.company_id = l.company_id AND b.id = l.branch_id
    LEFT JOIN departments AS d ON d.company_id = l.company_id AND d.id = l.department_id
   WHERE l.company_id = ? ${condition} ${direction === 'following' ? 'AND l.created_at > ?' : ''}
   ORDER BY l.created_at ${direction === 'following' ? 'ASC' : 'DESC'}
   LIMIT ?`;

function scopeValues(scope: LeadScope): SqlValue[] {
  const { branchId, departmentId } = placeOf(scope);
  const place = branchId ?? departmentId;
  return place === null ? [scope.companyId] : [scope.companyId, place];
}

/** Prepares the six statements of a poll. */
export function preparePages<Row>(connection: Connection, columns: string): (query: PageQuery) => Row[] {
  const prepareLevel = (level: LeadScope['level']) => ({
    newest: connection.prepare<Row>(pageSql(columns, SCOPE_FILTERS[level], 'newest')),
    following: connection.prepare<Row>(pageSql(columns, SCOPE_FILTERS[level], 'following')),
  });
  const statements = {
    COMPANY: prepareLevel('COMPANY'),
    BRANCH: prepareLevel('BRANCH'),
    DEPARTMENT: prepareLevel('DEPARTMENT'),
  };
  return ({ scope, since, limit }) => {
    const { newest, following } = statements[scope.level];
    const values = scopeValues(scope);
    return since === undefined ? newest.all(...values, limit) : following.all(...values, since, limit);
  };
}
