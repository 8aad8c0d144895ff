import type { Clock } from '../../server/src/lib/clock.ts';

/** What each engine does in its own way. */
export interface EngineDatabase {
  readonly url: string;
  /** For the stores that a test opens itself. */
  readonly settings: Readonly<Record<string, string>>;
  /** From now on the database tells the time by this clock, if it has a clock of its own. */
  useClock(clock: Clock): Promise<void>;
  /** From now on it is always this time there, if the database has a clock of its own. */
  stopClock(at: number): Promise<void>;
  /** As if a newer program had migrated the database. */
  addNewerMigration(): Promise<void>;
  /** Deletes a lead as an operator does, with plain SQL. */
  deleteLead(companyId: string, id: string): Promise<void>;
  /** Moves a lead to a branch, or to none, as an operator does: with plain SQL. `beforeCommit` runs in its transaction if the database lets others work meanwhile. */
  moveLead(
    companyId: string,
    id: string,
    branchId: string | null,
    beforeCommit?: () => Promise<void>,
  ): Promise<void>;
  /** Adds a constraint of the operator's to the table of leads. */
  addCheck(name: string, condition: string): Promise<void>;
  /** Takes the lock that a writer of a company's leads holds until it commits, and gives what lets go of it. */
  holdLock(companyId: string): Promise<() => Promise<void>>;
}

export interface DatabaseOptions {
  /** Without a schema. */
  readonly empty?: boolean;
  /** Where a database that is a file lies; else in a folder of its own. */
  readonly folder?: string;
}
