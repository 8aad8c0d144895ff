import { inject, onTestFinished } from 'vitest';
import { parseConfig } from '../../server/src/config.ts';
import type { Clock } from '../../server/src/lib/clock.ts';
import { openStore, type StoreTimeouts } from '../../server/src/open-store.ts';
import type { Store } from '../../server/src/store/store.ts';
import type { DatabaseOptions, EngineDatabase } from './engine-database.ts';
import { makePostgresDatabase } from './postgres-database.ts';
import { makeSqliteDatabase } from './sqlite-database.ts';
import type { WhenDone } from './temp-folder.ts';
import { LONG_STORE_TIMEOUTS } from './timeouts.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Which database the tests of this run get. */
    readonly store: 'sqlite' | 'postgres';
  }
}

/** A database of the test's own, on the store that the run is about. */
export interface TestDatabase extends EngineDatabase {
  /** The settings of its user. */
  readonly env: { readonly LEADTAP_DATABASE_URL: string };
  /** Each call gives another store, as another process would have it. The test closes it. */
  openStore(options?: { readonly clock?: Clock; readonly timeouts?: StoreTimeouts }): Promise<Store>;
}

const MAKE = { sqlite: makeSqliteDatabase, postgres: makePostgresDatabase };

/** Gone when the test is. */
export async function makeTestDatabase(
  whenDone: WhenDone = onTestFinished,
  options: DatabaseOptions = {},
): Promise<TestDatabase> {
  const database = await MAKE[inject('store')](whenDone, options);
  const env = { LEADTAP_DATABASE_URL: database.url };
  const config = parseConfig({ env: { ...env, ...database.settings }, cwd: '/' });
  return {
    ...database,
    env,
    openStore: async ({ clock, timeouts } = {}) => {
      if (clock) await database.useClock(clock);
      return openStore(config, {
        ...(clock && { clock }),
        timeouts: { ...LONG_STORE_TIMEOUTS, ...timeouts },
      });
    },
  };
}
