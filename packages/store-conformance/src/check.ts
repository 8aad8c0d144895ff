import type { Clock, Store } from 'leadtap';

/** An empty database with an up-to-date schema, for one check alone. */
export interface TestDatabase {
  /**
   * Opens a store. Each call returns a new one, like the store of another process. The store must use this clock only, and
   * read it while it holds the lock.
   */
  openStore(options: { readonly clock: Clock }): Promise<Store>;
  /** Deletes a lead from the database directly, as an operator does. */
  deleteLead(companyId: string, id: string): Promise<void>;
  /** Called at the end, after all stores are closed. */
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

/** Changes only when a check sets `now`. */
export class TestClock {
  now = START;
  #action: (() => void) | undefined;

  /** The action runs after the time was read, so the returned time is the one before it. */
  readonly read: Clock = () => {
    const { now } = this;
    const action = this.#action;
    this.#action = undefined;
    action?.();
    return now;
  };

  /** Runs an action right after a store has read the time. */
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
