/** Counts leads of many places, each in a range of one index. */
import { type ColumnType, type Dialect, query, type SqlDatabase } from '../sql/sql.ts';
import type { LeadRange, LeadRangeCount, LeadStore } from './store.ts';

type Level = 'company' | 'branch' | 'department';

const LEVELS = {
  company: { index: undefined, isHere: 'true', isOnlyHere: 's.branch_id IS NULL' },
  branch: {
    index: 'leads_by_branch',
    isHere: 'l.branch_id = r."branchId"',
    isOnlyHere: 's.department_id IS NULL',
  },
  department: {
    index: 'leads_by_department',
    isHere: 'l.department_id = r."departmentId"',
    isOnlyHere: 'true',
  },
};

const levelOf = ({ branchId, departmentId }: LeadRange): Level =>
  departmentId !== null ? 'department' : branchId !== null ? 'branch' : 'company';

const RANGE_TYPES: Record<'number' | keyof LeadRange, ColumnType> = {
  number: 'integer',
  companyId: 'text',
  branchId: 'text',
  departmentId: 'text',
  isOnlyHere: 'boolean',
  after: 'time',
  through: 'time',
};

/**
 * The values: the ranges, limit. Scalar subqueries, so that PostgreSQL reads the index for each range; `counted` is the count and the first
 * time, so that the leads are read once.
 */
function countSql({ rows, indexedBy }: Dialect, level: Level): string {
  const { index, isHere, isOnlyHere } = LEVELS[level];
  const leads = `
    FROM leadtap.leads AS l ${index === undefined ? '' : indexedBy(index)}
   WHERE l.company_id = r."companyId" AND ${isHere} AND l.created_at > r."after" AND l.created_at <= r.through
   ORDER BY l.created_at DESC`;
  return `
    SELECT r.number, (
        SELECT count(*) || ' ' || coalesce(leadtap.to_ms(min(s.created_at)), 0) FROM (
          SELECT l.created_at, l.automation_created_at, l.branch_id, l.department_id ${leads} LIMIT $2) AS s
         WHERE s.created_at = s.automation_created_at AND (NOT r."isOnlyHere" OR ${isOnlyHere})) AS counted,
      leadtap.to_ms((SELECT l.created_at ${leads} LIMIT 1 OFFSET $2 - 1)) AS "readFrom"
      FROM ${rows('$1', RANGE_TYPES)} AS r`;
}

interface CountRow {
  readonly number: number;
  readonly counted: string;
  readonly readFrom: number | null;
}

function toCount({ counted, readFrom }: CountRow): LeadRangeCount {
  const [count = 0, firstAt = 0] = counted.split(' ').map(Number);
  return { count, firstAt: count === 0 ? null : firstAt, readFrom };
}

export function createRangeCounts({ dialect, read }: SqlDatabase): Pick<LeadStore, 'countLeadsInRanges'> {
  const sql: Readonly<Record<Level, string>> = {
    company: countSql(dialect, 'company'),
    branch: countSql(dialect, 'branch'),
    department: countSql(dialect, 'department'),
  };
  return {
    async countLeadsInRanges(ranges, limit) {
      const counts = new Map<number, LeadRangeCount>();
      const numbered = ranges.map((range, number) => ({ ...range, number }));
      for (const level of ['company', 'branch', 'department'] as const) {
        const some = numbered.filter((range) => levelOf(range) === level);
        if (some.length === 0) continue;
        const rows = await read(() => query<CountRow>(sql[level], [JSON.stringify(some), limit]), {
          timeout: 'short',
        });
        for (const row of rows) counts.set(row.number, toCount(row));
      }
      return ranges.map((_, number) => counts.get(number) ?? NO_LEADS);
    },
  };
}

const NO_LEADS: LeadRangeCount = { count: 0, firstAt: null, readFrom: null };
