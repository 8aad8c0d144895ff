import type { Connection } from './connection.ts';
import { FreeTimes } from './free-times.ts';

const prepareStatements = (connection: Connection) => ({
  read: connection.prepare<{ last_stamp: number }>('SELECT last_stamp FROM companies WHERE id = ?'),
  write: connection.prepare('UPDATE companies SET last_stamp = ? WHERE id = ?'),
});

type Statements = ReturnType<typeof prepareStatements>;

/** Gives what begins a transaction. `now` must have been read after the lock was taken. */
export function prepareStamps(connection: Connection): (now: number) => Stamps {
  const sql = prepareStatements(connection);
  const freeTimes = new FreeTimes(connection);
  return (now) => new Stamps(sql, freeTimes, now);
}

/**
 * Gives the leads of one transaction their `createdAt`. The write lock, which is held until that transaction ends, is
 * what makes the rule `max(last stamp + 1, now + 1)` give unique stamps in commit order, later than every answer given
 * so far.
 */
export class Stamps {
  readonly #sql: Statements;
  readonly #freeTimes: FreeTimes;
  readonly #now: number;
  /** What `last_stamp` was when this transaction first looked. */
  readonly #stored = new Map<string, number>();
  /** What it will be when this transaction commits, for the companies where it rises. */
  readonly #given = new Map<string, number>();

  constructor(sql: Statements, freeTimes: FreeTimes, now: number) {
    this.#sql = sql;
    this.#freeTimes = freeTimes;
    this.#now = now;
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
    const stamp = this.#freeTimes.from(companyId, wanted);
    if (stamp > (this.#lastOf(companyId) ?? 0)) this.#given.set(companyId, stamp);
    return stamp;
  }

  /** How far the stamps of this transaction run ahead of the clock. */
  aheadMs(): number {
    return Math.max(0, ...[...this.#given.values()].map((stamp) => stamp - this.#now));
  }

  save(): void {
    for (const [companyId, stamp] of this.#given) this.#sql.write.run(stamp, companyId);
  }

  #lastOf(companyId: string): number | undefined {
    const known = this.#given.get(companyId) ?? this.#stored.get(companyId);
    if (known !== undefined) return known;
    const stored = this.#sql.read.get(companyId)?.last_stamp;
    if (stored !== undefined) this.#stored.set(companyId, stored);
    return stored;
  }
}
