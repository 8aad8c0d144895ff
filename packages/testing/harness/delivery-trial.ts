import type { Organisation } from 'leadtap';
import { inject, onTestFinished } from 'vitest';
import { companyIds, organisationOf, pollersOf } from '../delivery-trial/pollers/profiles.ts';
import { installSteppedClock } from '../delivery-trial/postgres/clock.ts';
import { deleteCompanyFrom } from '../delivery-trial/postgres/remade-company.ts';
import { readStoredFrom } from '../delivery-trial/postgres/stored.ts';
import { deleteCompanyFromFile, readStoredFromFile } from '../delivery-trial/sqlite/statements.ts';
import { Trial } from '../delivery-trial/trial.ts';
import { startService } from './service.ts';

export interface TestTrialOptions {
  readonly companies?: number;
  /** Clients with a limit of 1, 2 and 7 as well. */
  readonly isQuiet?: boolean;
  readonly usersOfEach?: number;
  /** Clients that wait for leads as well. */
  readonly hasWaitingClients?: boolean;
  /** Lets the test step the clock. */
  readonly isClockStepped?: boolean;
}

const DAY_MS = 86_400_000;

/** Two instances that share a database, and clients of all kinds. The test ends what this starts. */
export async function makeTestTrial(options: TestTrialOptions = {}) {
  const { companies = 1, isQuiet = false, usersOfEach = 12, isClockStepped = false } = options;
  const { hasWaitingClients = false } = options;
  const ids = companyIds(companies);
  const pollers = ids.flatMap((id) => pollersOf({ id, isQuiet, hasWaitingClients }, usersOfEach));
  const organisation = organisationOf(
    ids.map((id) => ({ id })),
    pollers,
  );
  const state = { offsetMs: 0 };
  const clock = () => Date.now() + state.offsetMs;
  const isSqlite = inject('store') === 'sqlite';
  const clocked = isSqlite && isClockStepped ? { clock } : {};
  const first = await startService({ organisation, ...clocked });
  const second = await startService({ organisation: { companies: [] }, beside: first, ...clocked });
  const { url } = first.database;
  const file = url.replace(/^sqlite:/, '');
  const openStore = () => first.database.openStore(clocked);
  const store = await openStore();
  onTestFinished(() => store.close());
  const setDatabaseClock = isSqlite || !isClockStepped ? undefined : await installSteppedClock(url);
  const token = (userId: string) =>
    first.token(userId, { expiresInMs: DAY_MS, scopes: ['leads:read', 'leads:write'] });
  const installation = { urls: [first.url, second.url], token };
  const trial = new Trial({
    installation,
    pollers,
    // On a busy machine a poll may wait too long for its database. It is asked again, and judged then.
    mayFail: (_client, status) => status === 503,
    readStored: isSqlite ? readStoredFromFile(file) : readStoredFrom(url, ids),
  });
  return {
    trial,
    installation,
    pollers,
    service: first,
    url,
    file,
    store,
    openStore,
    companyIds: ids,
    companyId: ids[0] ?? '',
    otherCompanyId: ids[1] ?? ids[0] ?? '',
    only: (companyId: string): Organisation => ({
      companies: organisation.companies.filter(({ id }) => id === companyId),
    }),
    deleteCompany: isSqlite ? deleteCompanyFromFile(file) : deleteCompanyFrom(url),
    setClockOffset: async (offsetMs: number) => {
      state.offsetMs = offsetMs;
      await setDatabaseClock?.(offsetMs);
    },
  };
}
