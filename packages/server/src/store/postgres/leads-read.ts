import { type LeadRow, toLeadRecord } from '../lead-row.ts';
import type { LeadRecord, Scope } from '../records.ts';
import type { Page, PageQuery } from '../store.ts';
import type { Database, QueryOptions } from './connection.ts';
import { isLockBusy } from './errors.ts';
import { LockQueue } from './lock-queue.ts';

/** What `leadtap.read_page` gives; `leads` is null when the lock was not to be had at once. */
interface PageRow {
  read_at: number | null;
  locked: boolean | null;
  last_stamp: number | null;
  leads: LeadRow[] | null;
}

/** How long `leadtap.read_page` waits for the lock. */
const NOT_AT_ALL = 0;
const WITHOUT_LOCK = null;

/** Reads what polls ask for. */
export class Pages {
  readonly #database: Database;
  readonly #lockWaitMs: number;
  readonly #queue: LockQueue;

  constructor(database: Database, lockWaitMs: number) {
    this.#database = database;
    this.#lockWaitMs = lockWaitMs;
    // The other half of the connections stays free for the companies that nobody writes to at this moment.
    this.#queue = new LockQueue(Math.max(1, Math.floor(database.connections / 2)));
  }

  /** Rejects while no page could be read. */
  async check(): Promise<void> {
    await this.#readUnlocked({ scope: { level: 'COMPANY', companyId: '' }, since: 0, limit: 0 }, {});
  }

  async readLeads(query: PageQuery, options: QueryOptions = {}): Promise<readonly LeadRecord[]> {
    return (await this.#readUnlocked(query, options)).leads;
  }

  async readPage(query: PageQuery, options: QueryOptions = {}): Promise<Page> {
    return (await this.#readLocked(query, NOT_AT_ALL, options)) ?? this.#waitForPage(query, options);
  }

  /** For a page whose lock is taken: after a while it is read without. */
  async #waitForPage(query: PageQuery, options: QueryOptions): Promise<Page> {
    const { companyId } = query.scope;
    const wait = { limitMs: this.#lockWaitMs, signal: options.signal };
    const waited = await this.#queue.wait(companyId, wait, (remainingMs) =>
      this.#readLocked(query, remainingMs, options),
    );
    return waited ?? this.#readUnlocked(query, options);
  }

  /** Undefined when the lock is taken. */
  async #readLocked(query: PageQuery, waitMs: number, options: QueryOptions): Promise<Page | undefined> {
    try {
      return await this.#read(query, waitMs, options);
    } catch (error) {
      if (isLockBusy(error)) return undefined;
      throw error;
    }
  }

  /** A lock error here is about a table, such as that of a migration: the read fails, and is not an empty page. */
  async #readUnlocked(query: PageQuery, options: QueryOptions): Promise<Page> {
    const page = await this.#read(query, WITHOUT_LOCK, options);
    if (!page) throw new Error('leadtap.read_page gave no page although it did without the lock');
    return page;
  }

  async #read(query: PageQuery, waitMs: number | null, options: QueryOptions): Promise<Page | undefined> {
    const { scope, since, limit } = query;
    const [row] = await this.#database.query<PageRow>(
      'SELECT * FROM leadtap.read_page($1, $2, $3, $4, $5, $6)',
      [...placeOf(scope), since ?? null, limit, waitMs],
      options,
    );
    return row && toPage(row);
  }
}

/** Company, branch and department; what is null does not narrow the page. */
function placeOf(scope: Scope): [string, string | null, string | null] {
  switch (scope.level) {
    case 'COMPANY':
      return [scope.companyId, null, null];
    case 'BRANCH':
      return [scope.companyId, scope.branchId, null];
    case 'DEPARTMENT':
      return [scope.companyId, null, scope.departmentId];
  }
}

function toPage({ read_at, locked, last_stamp, leads }: PageRow): Page | undefined {
  if (leads === null || read_at === null) return undefined;
  const lastStamp = last_stamp ?? undefined;
  return { leads: leads.map(toLeadRecord), readAt: read_at, locked: locked === true, lastStamp };
}
