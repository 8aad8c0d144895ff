import type { Clock, Store } from 'leadtap';

/** A database of one check's own: empty, with an up-to-date schema. */
export interface TestDatabase {
  /**
   * Opens a store on it. Each call gives another one, as another process would have it. The store must take the
   * time from this clock alone, and read it while it holds the lock.
   */
  openStore(options: { readonly clock: Clock }): Promise<Store>;
  /**
   * Deletes a lead from the database as an operator does, not through a store. Absent: the checks about deleted leads pass
   * without proving anything.
   */
  deleteLead?(companyId: string, id: string): Promise<void>;
  /** Called at the end, when every store is closed. */
  remove(): Promise<void>;
}

export type MakeDatabase = () => Promise<TestDatabase>;

export interface ConformanceCheck {
  /** What it proves. */
  readonly name: string;
  /** Rejects with an `AssertionError` when the adapter breaks the contract. */
  run(makeDatabase: MakeDatabase): Promise<void>;
}

/** Monday, 2 March 2026, 09:30. */
export const START = Date.UTC(2026, 2, 2, 9, 30);

/** Stands still until a check moves it. */
export class TestClock {
  now = START;
  #action: (() => void) | undefined;

  /** The time before the action, if one is due: whatever the action does happens after the time was read. */
  readonly read: Clock = () => {
    const { now } = this;
    const action = this.#action;
    this.#action = undefined;
    action?.();
    return now;
  };

  /** Lets something begin at the very moment at which a store has read the time. */
  afterNextRead(action: () => void): void {
    this.#action = action;
  }
}

export interface Setup {
  readonly store: Store;
  readonly clock: TestClock;
  readonly deleteLead: TestDatabase['deleteLead'];
  /** Another store on the same database, with the same clock. */
  openAnother(): Promise<Store>;
  /** Closes every store and opens a new one. */
  reopen(): Promise<Store>;
}

export function check(name: string, body: (setup: Setup) => Promise<void>): ConformanceCheck {
  const run = async (makeDatabase: MakeDatabase) => {
    const database = await makeDatabase();
    const clock = new TestClock();
    const open = new Set<Store>();
    const openAnother = async () => {
      const store = await database.openStore({ clock: clock.read });
      open.add(store);
      return store;
    };
    const closeAll = async () => {
      for (const store of open) await store.close();
      open.clear();
    };
    const reopen = async () => {
      await closeAll();
      return openAnother();
    };
    try {
      const { deleteLead } = database;
      await body({ store: await openAnother(), clock, deleteLead, openAnother, reopen });
    } finally {
      await closeAll();
      await database.remove();
    }
  };
  return { name, run };
}
