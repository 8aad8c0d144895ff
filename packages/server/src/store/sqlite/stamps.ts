import type { Connection } from './connection.ts';

/**
 * Gives leads their `createdAt`. Used only while the write lock is held, which is what makes the rule
 * `max(last stamp + 1, now + 1)` give unique stamps in commit order, later than every answer given so far.
 */
export class Stamps {
  readonly #read;
  readonly #write;
  readonly #occupied;
  readonly #taken;
  #now = 0;
  /** What `last_stamp` was when this transaction first looked. */
  #stored = new Map<string, number>();
  /** What it will be when this transaction commits. */
  #given = new Map<string, number>();
  readonly #continueAt = new Map<string, number>();

  constructor(connection: Connection) {
    this.#read = connection.prepare<{ last_stamp: number }>('SELECT last_stamp FROM companies WHERE id = ?');
    this.#write = connection.prepare('UPDATE companies SET last_stamp = ? WHERE id = ?');
    this.#occupied = connection.prepare<{ created_at: number }>(
      'SELECT created_at FROM leads WHERE company_id = ? AND created_at >= ? ORDER BY created_at LIMIT 256',
    );
    this.#taken = connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND created_at = ?');
  }

  /** Begins a transaction. `now` must have been read after the lock was taken. */
  begin(now: number): void {
    this.#now = now;
    this.#stored = new Map();
    this.#given = new Map();
  }

  knowsCompany(companyId: string): boolean {
    return this.#lastOf(companyId) !== undefined;
  }

  next(companyId: string): number {
    const stamp = Math.max(this.#lastOf(companyId) ?? 0, this.#now) + 1;
    this.#given.set(companyId, stamp);
    return stamp;
  }

  /** History keeps its own time, moved to the next free millisecond where another lead has it already. */
  historical(companyId: string, wanted: number): number {
    const key = `${companyId}\0${wanted}`;
    const stamp = this.#freeFrom(companyId, this.#resume(companyId, wanted, this.#continueAt.get(key)));
    // A file full of equal times (dates without a clock time) would search the same run again for each line.
    if (this.#continueAt.size > 10_000) this.#continueAt.clear();
    this.#continueAt.set(key, stamp + 1);
    this.#given.set(companyId, Math.max(this.#lastOf(companyId) ?? 0, stamp));
    return stamp;
  }

  /** How far the stamps of this transaction run ahead of the clock. */
  aheadMs(): number {
    return Math.max(0, ...[...this.#given.values()].map((stamp) => stamp - this.#now));
  }

  save(): void {
    for (const [companyId, stamp] of this.#given) this.#write.run(stamp, companyId);
  }

  #lastOf(companyId: string): number | undefined {
    const known = this.#given.get(companyId) ?? this.#stored.get(companyId);
    if (known !== undefined) return known;
    const stored = this.#read.get(companyId)?.last_stamp;
    if (stored !== undefined) this.#stored.set(companyId, stored);
    return stored;
  }

  /** What an undone transaction remembered is wrong: the lead before the place to continue is not there. */
  #resume(companyId: string, wanted: number, continueAt: number | undefined): number {
    if (continueAt === undefined) return wanted;
    return this.#taken.get(companyId, continueAt - 1) === undefined ? wanted : continueAt;
  }

  #freeFrom(companyId: string, from: number): number {
    let free = from;
    for (;;) {
      const rows = this.#occupied.all(companyId, free);
      for (const { created_at } of rows) {
        if (created_at !== free) return free;
        free += 1;
      }
      if (rows.length < 256) return free;
    }
  }
}
