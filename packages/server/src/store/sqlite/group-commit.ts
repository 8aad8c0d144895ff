import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';

/** A write that is kept or rolled back alone. */
interface Part<Database> {
  readonly leads: number;
  /** Returns what to do after the commit. */
  readonly run: (database: Database) => () => void;
  readonly reject: (reason: unknown) => void;
}

/** A larger transaction would hold the lock, and block the event loop, for too long. */
const MAX_LEADS = 1000;

/**
 * The writes of one turn of the event loop share a transaction, because a commit waits for the disk: 64 clients that sent
 * single leads had 1,590 instead of 225 of them acknowledged per second. None is acknowledged before the commit.
 */
export class GroupCommit<Database extends { readonly connection: Connection }> {
  readonly #transact: <T>(work: (database: Database) => T) => Promise<T>;
  #waiting: Part<Database>[] = [];

  constructor(transact: <T>(work: (database: Database) => T) => Promise<T>) {
    this.#transact = transact;
  }

  /** `leads` is the number of leads that it writes. If the work throws, only this part is rolled back. */
  write<T>(leads: number, work: (database: Database) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (database: Database) => {
        const outcome = database.connection.savepoint(() => work(database));
        return 'error' in outcome ? () => reject(asStoreError(outcome.error)) : () => resolve(outcome.value);
      };
      if (this.#waiting.length === 0) setImmediate(() => this.#commitWaiting());
      this.#waiting.push({ leads, run, reject });
    });
  }

  #commitWaiting(): void {
    const parts = this.#waiting;
    this.#waiting = [];
    let group: Part<Database>[] = [];
    let leads = 0;
    for (const part of parts) {
      if (group.length > 0 && leads + part.leads > MAX_LEADS) {
        void this.#commit(group);
        group = [];
        leads = 0;
      }
      group.push(part);
      leads += part.leads;
    }
    void this.#commit(group);
  }

  async #commit(parts: readonly Part<Database>[]): Promise<void> {
    try {
      const settle = await this.#transact((database) => parts.map(({ run }) => run(database)));
      for (const settlePart of settle) settlePart();
    } catch (error) {
      for (const { reject } of parts) reject(error);
    }
  }
}
