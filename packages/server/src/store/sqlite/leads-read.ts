import { type LeadRow, toLeadRecord } from '../lead-row.ts';
import type { LeadRecord, Scope } from '../records.ts';
import { type PageQuery, UnusableDatabaseError } from '../store.ts';
import type { Connection, SqlValue, Statement } from './connection.ts';

/** SQLite has no types for these columns: JSON is stored as text and a boolean as a number. */
type StoredLeadRow = Omit<LeadRow, 'custom_fields' | 'images' | 'same_day' | 'status_final'> & {
  readonly custom_fields: string;
  readonly images: string;
  readonly same_day: number;
  readonly status_final: number;
};

interface Place {
  readonly index: string;
  readonly condition: string;
}

/**
 * The indexes are named because SQLite has no statistics about the leads of a branch. It would choose the primary key and
 * read all leads of the company to find those of one branch.
 */
const PLACES: Record<Scope['level'], Place> = {
  COMPANY: { index: '', condition: '' },
  BRANCH: { index: 'INDEXED BY leads_by_branch', condition: 'AND l.branch_id = ?' },
  DEPARTMENT: { index: 'INDEXED BY leads_by_department', condition: 'AND l.department_id = ?' },
};

/**
 * One range scan of one index for each access level and direction, without a sort. The names are joined by primary key, so
 * that the next poll has the new name of a branch.
 */
const pageSql = ({ index, condition }: Place, direction: 'newest' | 'following') => `
  SELECT l.id, l.first_name, l.last_name, l.full_name, l.phone1, l.phone2, l.email, l.address, l.postal_code,
         l.address_notes, l.appointment_date_time, l.timeslot, l.status_value, s.label AS status_label,
         s.color AS status_color, s.final AS status_final, l.custom_fields, l.images, l.same_day,
         l.created_at, l.updated_at, c.name AS company_name, b.name AS branch_name,
         d.name AS department_name, l.automation_trigger_id, l.automation_created_at
    FROM leads AS l ${index}
    CROSS JOIN companies AS c ON c.id = l.company_id
    CROSS JOIN statuses AS s ON s.company_id = l.company_id AND s.value = l.status_value
    LEFT JOIN branches AS b ON b.company_id = l.company_id AND b.id = l.branch_id
    LEFT JOIN departments AS d ON d.company_id = l.company_id AND d.id = l.department_id
   WHERE l.company_id = ? ${condition} ${direction === 'following' ? 'AND l.created_at > ?' : ''}
   ORDER BY l.created_at ${direction === 'following' ? 'ASC' : 'DESC'}
   LIMIT ?`;

function scopeValues(scope: Scope): SqlValue[] {
  switch (scope.level) {
    case 'COMPANY':
      return [scope.companyId];
    case 'BRANCH':
      return [scope.companyId, scope.branchId];
    case 'DEPARTMENT':
      return [scope.companyId, scope.departmentId];
  }
}

type ReadPage = (query: PageQuery) => LeadRecord[];

/** Prepares the six statements of a poll. */
export function preparePages(connection: Connection): ReadPage {
  const prepareLevel = (level: Scope['level']): Record<'newest' | 'following', Statement<StoredLeadRow>> => ({
    newest: connection.prepare(pageSql(PLACES[level], 'newest')),
    following: connection.prepare(pageSql(PLACES[level], 'following')),
  });
  const statements = {
    COMPANY: prepareLevel('COMPANY'),
    BRANCH: prepareLevel('BRANCH'),
    DEPARTMENT: prepareLevel('DEPARTMENT'),
  };
  return ({ scope, since, limit }) => {
    const { newest, following } = statements[scope.level];
    const rows =
      since === undefined
        ? newest.all(...scopeValues(scope), limit)
        : following.all(...scopeValues(scope), since, limit);
    return rows.map(toRecord);
  };
}

const toRecord = (row: StoredLeadRow): LeadRecord =>
  toLeadRecord({
    ...row,
    custom_fields: parseJson(row.custom_fields),
    images: parseJson(row.images),
    same_day: row.same_day === 1,
    status_final: row.status_final === 1,
  });

/** Only JSON is ever written, so anything else is damage that SQLite does not detect. */
function parseJson(text: string) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnusableDatabaseError('the database file is damaged', { cause: error });
  }
}
