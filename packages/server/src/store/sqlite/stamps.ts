import type { Connection } from './connection.ts';
import { FreeTimes } from './free-times.ts';

const prepareStatements = (connection: Connection) => ({
  read: connection.prepare<{ last_stamp: number }>('SELECT last_stamp FROM companies WHERE id = ?'),
  write: connection.prepare('UPDATE companies SET last_stamp = ? WHERE id = ?'),
  notePast: connection.prepare(`INSERT INTO changes (kind, id) VALUES ('company', ?)`),
});

type Statements = ReturnType<typeof prepareStatements>;

const timeKey = (companyId: string, wanted: number): string => `${companyId}\0${wanted}`;

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
  /** Companies that got leads in their past. */
  readonly #past = new Set<string>();
  /** Where the next lead may stand that wants a time from which others had to move. */
  readonly #moved = new Map<string, number>();

  constructor(sql: Statements, freeTimes: FreeTimes, now: number) {
    this.#sql = sql;
    this.#freeTimes = freeTimes;
    this.#now = now;
  }

  knowsCompany(companyId: string): boolean {
    return this.#lastOf(companyId) !== undefined;
  }

  /** The stamp of the next new lead. It counts as given when it is taken. */
  next(companyId: string): number {
    return Math.max(this.#lastOf(companyId) ?? 0, this.#now) + 1;
  }

  /** History keeps its own time, if it is free; a time from which others had to move is not tried again. */
  historical(companyId: string, wanted: number): number {
    return this.#moved.size === 0 ? wanted : (this.#moved.get(timeKey(companyId, wanted)) ?? wanted);
  }

  /** Where history moves to when another lead has its time. */
  nextFree(companyId: string, wanted: number): number {
    const free = this.#freeTimes.from(companyId, wanted);
    this.#moved.set(timeKey(companyId, wanted), free);
    return free;
  }

  /** A lead has the stamp now; history also says which one it wanted. */
  take(companyId: string, stamp: number, wanted = stamp): void {
    if (stamp > (this.#lastOf(companyId) ?? 0)) this.#given.set(companyId, stamp);
    else this.#past.add(companyId);
    if (stamp !== wanted) this.#moved.set(timeKey(companyId, wanted), stamp + 1);
  }

  /** Whoever remembers the leads of a company reads on at their end: that some came before it must be said. */
  save(): void {
    for (const [companyId, stamp] of this.#given) this.#sql.write.run(stamp, companyId);
    for (const companyId of this.#past) this.#sql.notePast.run(companyId);
  }

  #lastOf(companyId: string): number | undefined {
    const known = this.#given.get(companyId) ?? this.#stored.get(companyId);
    if (known !== undefined) return known;
    const stored = this.#sql.read.get(companyId)?.last_stamp;
    if (stored !== undefined) this.#stored.set(companyId, stored);
    return stored;
  }
}
