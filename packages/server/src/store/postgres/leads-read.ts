import { type LeadRow, toLeadRecord } from '../lead-row.ts';
import type { Scope, User } from '../records.ts';
import type { ExpectedPoll, Page, PageQuery } from '../store.ts';
import type { Database, QueryOptions } from './connection.ts';
import { isLockTimeout } from './errors.ts';
import { LockQueue } from './lock-queue.ts';
import { isText } from './text.ts';

/** What `leadtap.read_page` gives; `leads` is null when the lock was not to be had at once. */
interface PageRow {
  read_at: number | null;
  locked: boolean | null;
  leads: LeadRow[] | null;
}

interface PollRow extends PageRow {
  revoked: boolean;
  account: User | null;
}

/** What the store knows of one poll; the page is absent when it was not asked for, or must be waited for. */
export interface PollReading {
  readonly revoked: boolean;
  readonly user: User | undefined;
  readonly page: Page | undefined;
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

  /** All that a poll asks, in one round trip. */
  async readPoll({ userId, tokenId, page, signal }: ExpectedPoll): Promise<PollReading> {
    const [row] = await this.#database.query<PollRow>(
      'SELECT * FROM leadtap.read_poll($1, $2, $3, $4)',
      [nameable(userId), nameable(tokenId), page?.since ?? null, page?.limit ?? null],
      // It waits for no lock. And a caller who hangs up now has not been counted yet: each time a connection would be
      // lost to the cancelling, and no limit would ever stop it.
      { signal, isShort: true },
    );
    return {
      revoked: row?.revoked ?? false,
      user: row?.account ?? undefined,
      page: row && toPage(row),
    };
  }

  /** Rejects while no page could be read. */
  async check(): Promise<void> {
    await this.#read({ scope: { level: 'COMPANY', companyId: '' }, since: 0, limit: 0 }, WITHOUT_LOCK, {});
  }

  async readPage(query: PageQuery, options: QueryOptions = {}): Promise<Page> {
    return (await this.#read(query, NOT_AT_ALL, options)) ?? this.waitForPage(query, options);
  }

  /** For a page whose lock is taken: after a while it is read without. */
  async waitForPage(query: PageQuery, options: QueryOptions = {}): Promise<Page> {
    const { companyId } = query.scope;
    const wait = { limitMs: this.#lockWaitMs, signal: options.signal };
    const waited = await this.#queue.wait(companyId, wait, (remainingMs) =>
      this.#read(query, remainingMs, options),
    );
    const page = waited ?? (await this.#read(query, WITHOUT_LOCK, options));
    if (!page) throw new Error('leadtap.read_page gave no page although it did without the lock');
    return page;
  }

  async #read(query: PageQuery, waitMs: number | null, options: QueryOptions): Promise<Page | undefined> {
    const { scope, since, limit } = query;
    try {
      const [row] = await this.#database.query<PageRow>(
        'SELECT * FROM leadtap.read_page($1, $2, $3, $4, $5, $6)',
        [...placeOf(scope), since ?? null, limit, waitMs],
        options,
      );
      return row && toPage(row);
    } catch (error) {
      if (isLockTimeout(error)) return undefined;
      throw error;
    }
  }
}

const nameable = (id: string | undefined): string | null => (id !== undefined && isText(id) ? id : null);

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

const toPage = ({ read_at, locked, leads }: PageRow): Page | undefined =>
  leads === null || read_at === null
    ? undefined
    : { leads: leads.map(toLeadRecord), readAt: read_at, locked: locked === true };
