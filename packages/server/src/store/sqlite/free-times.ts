import type { Connection } from './connection.ts';

const RUN = 256;
const MOST_REMEMBERED = 10_000;

/** Finds the first millisecond, from a wanted one on, that no lead of a company has. */
export class FreeTimes {
  readonly #occupied;
  readonly #taken;
  /**
   * Where the last search for a time ended. A file full of equal times (dates without a clock time) would search the
   * same run again for each batch.
   */
  readonly #continueAt = new Map<string, number>();

  constructor(connection: Connection) {
    this.#occupied = connection.prepare<{ created_at: number }>(
      `SELECT created_at FROM leads WHERE company_id = ? AND created_at >= ? ORDER BY created_at LIMIT ${RUN}`,
    );
    this.#taken = connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND created_at = ?');
  }

  /** The caller holds the write lock. */
  from(companyId: string, wanted: number): number {
    const key = `${companyId}\0${wanted}`;
    const free = this.#search(companyId, this.#resume(companyId, wanted, this.#continueAt.get(key)));
    if (this.#continueAt.size > MOST_REMEMBERED) this.#continueAt.clear();
    this.#continueAt.set(key, free + 1);
    return free;
  }

  /** What an undone transaction remembered is wrong: the lead before the place to continue is not there. */
  #resume(companyId: string, wanted: number, continueAt: number | undefined): number {
    if (continueAt === undefined) return wanted;
    return this.#taken.get(companyId, continueAt - 1) === undefined ? wanted : continueAt;
  }

  #search(companyId: string, from: number): number {
    let free = from;
    for (;;) {
      const rows = this.#occupied.all(companyId, free);
      for (const { created_at } of rows) {
        if (created_at !== free) return free;
        free += 1;
      }
      if (rows.length < RUN) return free;
    }
  }
}
