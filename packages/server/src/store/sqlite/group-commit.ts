import { takeTurn } from '../../lib/event-loop.ts';
import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';
import type { LeadBatch, LeadWriter } from './leads-write.ts';

/** A write that is kept or rolled back alone. */
interface Part<Database> {
  readonly leads: number;
  /** Returns what to do after the commit. */
  readonly run: (database: Database, batch: LeadBatch) => () => void;
  readonly reject: (reason: unknown) => void;
}

/** A larger transaction would block the event loop for longer, and gain little: the wait for the disk is a small part of it. */
const MAX_LEADS = 200;

/**
 * Writes that arrive in two turns of the event loop share a transaction, because a commit waits for the disk: of 64 clients that
 * send single leads, nearly all share one. None is acknowledged before the commit.
 */
export class GroupCommit<Database extends { readonly connection: Connection; readonly leads: LeadWriter }> {
  readonly #transact: <T>(work: (database: Database) => T) => Promise<T>;
  readonly #queued: Part<Database>[] = [];

  constructor(transact: <T>(work: (database: Database) => T) => Promise<T>) {
    this.#transact = transact;
  }

  /** `leads` is the number of leads that it writes. If the work throws, only this part is rolled back. */
  write<T>(leads: number, work: (database: Database, batch: LeadBatch) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (database: Database, batch: LeadBatch) => {
        const value = work(database, batch);
        return () => resolve(value);
      };
      // Two turns: requests that have arrived during the last commit are checked in the first, and join this group in the second.
      if (this.#queued.length === 0)
        void takeTurn()
          .then(() => takeTurn())
          .then(() => this.#commitNext());
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
      const settle = await this.#writeParts(parts);
      for (const settlePart of settle) settlePart();
    } catch (error) {
      for (const { reject } of parts) reject(error);
    }
  }

  /** Savepoints, for which SQLite copies every page that changes, are used only after a part has failed: few leads are rejected. */
  async #writeParts(parts: readonly Part<Database>[]): Promise<readonly (() => void)[]> {
    let hasFailed = false;
    try {
      return await this.#transact((database) =>
        database.leads.inBatch((batch) =>
          parts.map(({ run }) => {
            hasFailed = true;
            const settle = run(database, batch);
            hasFailed = false;
            return settle;
          }),
        ),
      );
    } catch (error) {
      if (!hasFailed || parts.length === 1) throw error;
      return this.#transact((database) => parts.map((part) => writeAlone(part, database)));
    }
  }
}

function writeAlone<Database extends { readonly connection: Connection; readonly leads: LeadWriter }>(
  { run, reject }: Part<Database>,
  database: Database,
): () => void {
  const outcome = database.connection.savepoint(() =>
    database.leads.inBatch((batch) => run(database, batch)),
  );
  return 'error' in outcome ? () => reject(asStoreError(outcome.error)) : outcome.value;
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
