import { takeTurn } from '../../event-loop.ts';
import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';

/** A write that is kept or rolled back alone. */
interface Part<Database> {
  readonly leads: number;
  /** Returns what to do after the commit. */
  readonly run: (database: Database, isAlone: boolean) => () => void;
  readonly reject: (reason: unknown) => void;
}

/** A larger transaction would block the event loop for longer, and gain little: the wait for the disk is a small part of it. */
const MAX_LEADS = 200;

/**
 * Writes that arrive in one turn of the event loop share a transaction, because a commit waits for the disk: 64 clients that sent
 * single leads had 1,590 instead of 225 of them acknowledged per second. None is acknowledged before the commit.
 */
export class GroupCommit<Database extends { readonly connection: Connection }> {
  readonly #transact: <T>(work: (database: Database) => T) => Promise<T>;
  readonly #queued: Part<Database>[] = [];

  constructor(transact: <T>(work: (database: Database) => T) => Promise<T>) {
    this.#transact = transact;
  }

  /** `leads` is the number of leads that it writes. If the work throws, only this part is rolled back. */
  write<T>(leads: number, work: (database: Database) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (database: Database, isAlone: boolean) => {
        // Alone, it needs no savepoint, for which SQLite would copy every page that changes.
        const outcome = isAlone
          ? { value: work(database) }
          : database.connection.savepoint(() => work(database));
        return 'error' in outcome ? () => reject(asStoreError(outcome.error)) : () => resolve(outcome.value);
      };
      if (this.#queued.length === 0) void takeTurn().then(() => this.#commitNext());
      this.#queued.push({ leads, run, reject });
    });
  }

  /** One group in each turn of the event loop: between two of them, other requests are answered. */
  #commitNext(): void {
    const group = this.#queued.splice(0, countFirstGroup(this.#queued));
    if (this.#queued.length > 0) void takeTurn().then(() => this.#commitNext());
    void this.#commit(group);
  }

  async #commit(parts: readonly Part<Database>[]): Promise<void> {
    try {
      const isAlone = parts.length === 1;
      const settle = await this.#transact((database) => parts.map(({ run }) => run(database, isAlone)));
      for (const settlePart of settle) settlePart();
    } catch (error) {
      for (const { reject } of parts) reject(error);
    }
  }
}

/** How many of the first parts fit into one transaction; at least one. */
function countFirstGroup(parts: readonly { readonly leads: number }[]): number {
  let leads = 0;
  const end = parts.findIndex((part, index) => {
    leads += part.leads;
    return index > 0 && leads > MAX_LEADS;
  });
  return end === -1 ? parts.length : end;
}
