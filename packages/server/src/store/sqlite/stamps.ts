import type { Connection } from './connection.ts';

const prepareStatements = (connection: Connection) => ({
  read: connection.prepare<{ last_stamp: number }>('SELECT last_stamp FROM companies WHERE id = ?'),
  write: connection.prepare('UPDATE companies SET last_stamp = ? WHERE id = ?'),
  logChange: connection.prepare(`INSERT INTO changes (kind, id) VALUES ('company', ?)`),
});

type Statements = ReturnType<typeof prepareStatements>;

/** Returns a function that is called once in each transaction. `now` must be read after the lock was acquired. */
export function prepareStamps(connection: Connection): (now: number) => Stamps {
  const sql = prepareStatements(connection);
  return (now) => new Stamps(sql, now);
}

/**
 * Gives the leads of one transaction their `createdAt`. The transaction holds the write lock until it commits, so
 * `max(last stamp, now) + 1` gives unique stamps in commit order that are later than the time of every earlier answer.
 */
export class Stamps {
  readonly #sql: Statements;
  readonly #now: number;
  /** `last_stamp` as stored before this transaction. */
  readonly #stored = new Map<string, number>();
  /** `last_stamp` as stored by `save`, for the companies where it changes. */
  readonly #given = new Map<string, number>();
  /** Companies that got a lead before their last stamp. */
  readonly #withHistory = new Set<string>();

  constructor(sql: Statements, now: number) {
    this.#sql = sql;
    this.#now = now;
  }

  hasCompany(companyId: string): boolean {
    return this.#lastOf(companyId) !== undefined;
  }

  /** The stamp of the next new lead. It counts as given only after `take`. */
  next(companyId: string): number {
    return Math.max(this.#lastOf(companyId) ?? 0, this.#now) + 1;
  }

  /** Records that a lead was inserted with this stamp. */
  take(companyId: string, stamp: number): void {
    if (stamp > (this.#lastOf(companyId) ?? 0)) this.#given.set(companyId, stamp);
    else this.#withHistory.add(companyId);
  }

  /** Caches append the leads after the last stamp they know, so a lead before it needs an entry in the change log. */
  save(): void {
    for (const [companyId, stamp] of this.#given) this.#sql.write.run(stamp, companyId);
    for (const companyId of this.#withHistory) this.#sql.logChange.run(companyId);
  }

  #lastOf(companyId: string): number | undefined {
    const known = this.#given.get(companyId) ?? this.#stored.get(companyId);
    if (known !== undefined) return known;
    const stored = this.#sql.read.get(companyId)?.last_stamp;
    if (stored !== undefined) this.#stored.set(companyId, stored);
    return stored;
  }
}

const SEARCH_ROWS = 256;
const MAX_CACHED = 10_000;

/**
 * Finds the first free millisecond, at or after a wanted one, for leads imported as history. The caller holds the write
 * lock. The end of each search is cached: in a file of dates without a clock time, thousands of leads want the same
 * millisecond.
 */
export class FreeTimes {
  readonly #occupied;
  readonly #isTaken;
  readonly #nextFree = new Map<string, number>();

  constructor(connection: Connection) {
    this.#occupied = connection.prepare<{ created_at: number }>(
      `SELECT created_at FROM leads WHERE company_id = ? AND created_at >= ? ORDER BY created_at LIMIT ${SEARCH_ROWS}`,
    );
    this.#isTaken = connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND created_at = ?');
  }

  /** A time that is probably free. After a rollback the cached one is wrong: the lead just before it does not exist. */
  guess(companyId: string, wanted: number): number {
    const cached = this.#nextFree.get(`${companyId}\0${wanted}`);
    return cached !== undefined && this.#isTaken.get(companyId, cached - 1) ? cached : wanted;
  }

  find(companyId: string, wanted: number): number {
    return this.#search(companyId, this.guess(companyId, wanted));
  }

  /** Records that a lead was inserted at `time`. */
  take(companyId: string, wanted: number, time: number): void {
    if (time === wanted) return;
    if (this.#nextFree.size >= MAX_CACHED) this.#nextFree.clear();
    this.#nextFree.set(`${companyId}\0${wanted}`, time + 1);
  }

  #search(companyId: string, from: number): number {
    let free = from;
    for (;;) {
      const rows = this.#occupied.all(companyId, free);
      for (const { created_at } of rows) {
        if (created_at !== free) return free;
        free += 1;
      }
      if (rows.length < SEARCH_ROWS) return free;
    }
  }
}
