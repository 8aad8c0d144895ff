import type { Connection } from './connection.ts';

const prepareStatements = (connection: Connection) => ({
  read: connection.prepare<{ last_stamp: number }>('SELECT last_stamp FROM companies WHERE id = ?'),
  write: connection.prepare('UPDATE companies SET last_stamp = ? WHERE id = ?'),
  logChange: connection.prepare(`INSERT INTO changes (kind, id) VALUES ('company', ?)`),
  isTaken: connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND created_at = ?'),
  firstGap: connection.prepare<{ free: number }>(
    `SELECT l.created_at + 1 AS free FROM leads AS l WHERE l.company_id = ? AND l.created_at >= ?
        AND NOT EXISTS (SELECT 1 FROM leads AS n WHERE n.company_id = l.company_id AND n.created_at = l.created_at + 1)
      ORDER BY l.created_at LIMIT 1`,
  ),
});

type Statements = ReturnType<typeof prepareStatements>;

const MAX_CACHED = 10_000;

/** Returns a function that is called once in each transaction. `now` must be read after the lock was acquired. */
export function prepareStamps(connection: Connection): (now: number) => Stamps {
  const sql = prepareStatements(connection);
  const lastFree = new Map<string, number>();
  return (now) => {
    if (lastFree.size > MAX_CACHED) lastFree.clear();
    return new Stamps(sql, lastFree, now);
  };
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
  /** The last result of a search of `firstFree`, by company and wanted time. */
  readonly #lastFree: Map<string, number>;

  constructor(sql: Statements, lastFree: Map<string, number>, now: number) {
    this.#sql = sql;
    this.#lastFree = lastFree;
    this.#now = now;
  }

  /** The stamp of the next new lead. It counts as given only after `take`. */
  next(companyId: string): number {
    return Math.max(this.#lastOf(companyId), this.#now) + 1;
  }

  /**
   * The first free millisecond, at or after a wanted one, for leads imported as history. A search starts where the last one
   * ended: in a file of dates without a clock time, thousands of leads want the same millisecond (50,000 leads: 2.5 s
   * instead of 4.8). It may pass over the millisecond of a lead that was erased meanwhile. After a rollback, the lead just
   * before that end does not exist, and the search starts again.
   */
  firstFree(companyId: string, wanted: number): number {
    // No lead is later than the last stamp: in a file that is sorted by time, most leads need no search.
    if (wanted > this.#lastOf(companyId)) return wanted;
    const key = `${companyId}\0${wanted}`;
    const last = this.#lastFree.get(key);
    const start = last !== undefined && this.#sql.isTaken.get(companyId, last - 1) ? last : wanted;
    if (!this.#sql.isTaken.get(companyId, start)) return start;
    const free = this.#sql.firstGap.get(companyId, start)?.free ?? start;
    this.#lastFree.set(key, free);
    return free;
  }

  /** Records that a lead was inserted with this stamp. */
  take(companyId: string, stamp: number): void {
    if (stamp > this.#lastOf(companyId)) this.#given.set(companyId, stamp);
    else this.#withHistory.add(companyId);
  }

  /** Caches append the leads after the last stamp they know, so a lead before it needs an entry in the change log. */
  save(): void {
    // A trigger of companies logs `leads-appended` (schema.sql).
    for (const [companyId, stamp] of this.#given) this.#sql.write.run(stamp, companyId);
    for (const companyId of this.#withHistory) this.#sql.logChange.run(companyId);
  }

  #lastOf(companyId: string): number {
    const known = this.#given.get(companyId) ?? this.#stored.get(companyId);
    if (known !== undefined) return known;
    const stored = this.#sql.read.get(companyId)?.last_stamp ?? 0;
    this.#stored.set(companyId, stored);
    return stored;
  }
}
