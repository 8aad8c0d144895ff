import { claimedHookSql } from '../../hooks/sql.ts';
import type { HookStore } from '../../hooks/store.ts';
import { type LeadScope, placeOf } from '../../leads/record.ts';
import { type LeadRow, toLeadRecord } from '../../leads/row.ts';
import type { ChangeTrackingStore, Page, PageQuery } from '../../poll/store.ts';
import type { Store } from '../store.ts';
import type { Database } from './connection.ts';
import { isLockBusy } from './errors.ts';
import { toRenderedLead } from './lead-page.ts';
import { COMPANY_BUSY, LockQueue } from './lock-queue.ts';

/** The result of `leadtap.read_page`; `leads` is null when the lock was not free at once. */
interface PageRow {
  read_at: number | null;
  locked: boolean | null;
  last_stamp: number | null;
  leads: LeadRow[] | null;
}

const READ_PAGE = 'SELECT * FROM leadtap.read_page($1, $2, $3, $4, $5, $6)';
const READ_LEADS = 'SELECT leadtap.read_leads($1, $2, $3, $4, $5) AS leads';

/** Without a branch or a department, the level of the user has no leads: `read_leads` would return those of the company. */
const READ_LEAD_OF_HOOK = `
  SELECT leadtap.read_leads(u.company_id, CASE u.access_level WHEN 'BRANCH' THEN u.branch_id END,
                            CASE u.access_level WHEN 'DEPARTMENT' THEN u.department_id END, $3, 1) AS lead
    FROM ${claimedHookSql('leadtap.from_ms(leadtap.clock_ms())')}
     AND (CASE u.access_level WHEN 'COMPANY' THEN '' WHEN 'BRANCH' THEN u.branch_id ELSE u.department_id END) IS NOT NULL`;

/** One statement with a plan that is cached: a transaction that plans its statement takes 3 ms of the database for each lead. */
export const createReadLead =
  (database: Database): HookStore['readLead'] =>
  async ({ id, notBefore }, after) => {
    const [row] = await database.query<{ lead: string | null }>(READ_LEAD_OF_HOOK, [id, notBefore, after]);
    return row?.lead ? toRenderedLead(row.lead) : undefined;
  };

/** Values for how long `leadtap.read_page` waits for the lock. */
const NO_WAIT = 0;
const WITHOUT_LOCK = null;

type PageMethods = Pick<Store, 'readPage' | 'ping'> & Pick<ChangeTrackingStore, 'readLeads'>;

export function pageMethods(database: Database, lockWaitMs: number): PageMethods {
  // The other half of the connections stays free for companies that are not being written to.
  const lockQueue = new LockQueue(Math.max(1, Math.floor(database.connections / 2)));

  async function read(query: PageQuery, waitMs: number | null, signal?: AbortSignal) {
    const { scope, since, limit } = query;
    const values = [...scopeValues(scope), since ?? null, limit, waitMs];
    const [row] = await database.query<PageRow>(READ_PAGE, values, { signal });
    return row ? toPage(row) : COMPANY_BUSY;
  }

  async function readLocked(query: PageQuery, waitMs: number, signal?: AbortSignal) {
    try {
      return await read(query, waitMs, signal);
    } catch (error) {
      if (isLockBusy(error)) return COMPANY_BUSY;
      throw error;
    }
  }

  /** A lock error here is about a table, of a migration for one: the read fails, and is not an empty page. */
  async function readUnlocked(query: PageQuery, signal?: AbortSignal): Promise<Page> {
    const page = await read(query, WITHOUT_LOCK, signal);
    if (page === COMPANY_BUSY)
      throw new Error('leadtap.read_page returned no page although it needed no lock');
    return page;
  }

  return {
    async readPage(query, signal) {
      const page = await readLocked(query, NO_WAIT, signal);
      if (page !== COMPANY_BUSY) return page;
      const queuedPage = await lockQueue.run(query.scope.companyId, lockWaitMs, (remainingMs) =>
        readLocked(query, remainingMs, signal),
      );
      return queuedPage === COMPANY_BUSY ? readUnlocked(query, signal) : queuedPage;
    },

    async readLeads({ scope, since, limit }, signal) {
      const values = [...scopeValues(scope), since ?? null, limit];
      const [row] = await database.query<{ leads: string | null }>(READ_LEADS, values, { signal });
      return row?.leads?.split('\n').map(toRenderedLead) ?? [];
    },

    /** An empty poll, not `SELECT 1`: a standby answers that, but no polls. */
    async ping() {
      await readUnlocked({ scope: { level: 'COMPANY', companyId: '' }, since: 0, limit: 0 });
    },
  };
}

function scopeValues(scope: LeadScope): [string, string | null, string | null] {
  const { branchId, departmentId } = placeOf(scope);
  return [scope.companyId, branchId, departmentId];
}

/** `leadtap.read_page` leaves the columns null if it does not get the lock. */
function toPage({ read_at, locked, last_stamp, leads }: PageRow): Page | typeof COMPANY_BUSY {
  if (leads === null || read_at === null) return COMPANY_BUSY;
  const lastStamp = last_stamp ?? undefined;
  return { leads: leads.map(toLeadRecord), readAt: read_at, locked: locked === true, lastStamp };
}
