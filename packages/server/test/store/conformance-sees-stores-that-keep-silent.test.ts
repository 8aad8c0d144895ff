import { join } from 'node:path';
import { storeConformance } from '@leadtap/store-conformance';
import {
  type Change,
  type ChangeTrackingStore,
  openSqliteStore,
  type Revalidation,
  type Store,
} from 'leadtap';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { DelegatingStore } from './delegating-store.ts';

type Watched = (inner: ChangeTrackingStore) => Partial<ChangeTrackingStore>;

class WatchedBadly extends DelegatingStore {
  readonly changeTracking: ChangeTrackingStore;

  constructor(inner: Store, defect: Watched) {
    super(inner);
    const { changeTracking } = inner;
    if (!changeTracking) throw new Error('the store cannot be watched');
    this.changeTracking = {
      revalidate: (...question) => changeTracking.revalidate(...question),
      readLeads: (...query) => changeTracking.readLeads(...query),
      ...defect(changeTracking),
    };
  }
}

/** Spoils what a look tells. */
const revalidations =
  (spoil: (revalidation: Revalidation) => Partial<Revalidation>): Watched =>
  (inner) => ({
    revalidate: async (...question) => {
      const revalidation = await inner.revalidate(...question);
      return { ...revalidation, ...spoil(revalidation) };
    },
  });

const hides = (hidden: Change['kind']): Watched =>
  revalidations(({ changes }) => ({ changes: changes?.filter(({ kind }) => kind !== hidden) }));

/** What is wrong, and a check that must see it. */
const DEFECTS: readonly [string, Watched, string][] = [
  ['hides new leads', hides('leads-appended'), 'tells of a new lead'],
  ['hides what changes in a company', hides('company'), 'tells of another name of a department'],
  ['hides users', hides('user'), 'tells of another plan'],
  ['hides revoked tokens', hides('token'), 'tells of a revoked token'],
  [
    'says that nothing has changed before the first look',
    revalidations(({ changes = [] }) => ({ changes })),
    'the first look',
  ],
  [
    'takes any word for its own',
    revalidations(({ changes = [] }) => ({ changes })),
    'a known that no look gave',
  ],
  [
    'tells what it is asked about, and not who that is',
    revalidations(({ accounts }) => ({
      accounts: accounts.map(() => ({ isRevoked: false, user: undefined })),
    })),
    'who the bearers are',
  ],
  [
    'lets revoked tokens pass',
    revalidations(({ accounts }) => ({ accounts: accounts.map(({ user }) => ({ isRevoked: false, user })) })),
    'who the bearers are',
  ],
  [
    'mixes up the bearers',
    revalidations(({ accounts }) => ({ accounts: accounts.toReversed() })),
    'who the bearers are',
  ],
  [
    'is always told from the beginning',
    (inner) => {
      let first: string | undefined;
      return {
        revalidate: async (question, known) => {
          const revalidation = await inner.revalidate(question, known === undefined ? undefined : first);
          first ??= revalidation.seen;
          return revalidation;
        },
      };
    },
    'tells of another plan',
  ],
  [
    'answers with a time after its snapshot',
    revalidations(({ readAt }) => ({ readAt: readAt + 1 })),
    'D3: a lead is in what is read',
  ],
  ['overlooks who is writing', revalidations(() => ({ busy: new Set() })), 'D3: a look that begins while'],
  [
    'overlooks it for bearers alone',
    (inner) => ({
      revalidate: async (question, known) => {
        const revalidation = await inner.revalidate(question, known);
        return {
          ...revalidation,
          busy: new Set(question.companies.filter((company) => revalidation.busy.has(company))),
        };
      },
    }),
    'D3: nor does one that learns the company',
  ],
  [
    'reads the whole company for everybody',
    (inner) => ({
      readLeads: ({ scope: { companyId }, ...query }) =>
        inner.readLeads({ ...query, scope: { level: 'COMPANY', companyId } }),
    }),
    'what is read without a lock',
  ],
];

it.each(DEFECTS)('the conformance suite fails a store that %s', async (_what, defect, fragment) => {
  const checks = storeConformance.filter(({ name }) => name.includes(fragment));
  expect(checks).toHaveLength(1);
  const verdict = (how: (store: Store) => Store) => {
    const file = join(tempFolder(), 'leadtap.db');
    // One that waits for nobody, so that a look meets whoever is writing.
    const openStore = async (options: { clock: () => number }) =>
      how(await openSqliteStore({ file, pollLockWaitMs: 0, ...options }));
    return checks[0]?.run(async () => ({ openStore, remove: async () => undefined }));
  };
  await expect(verdict((store) => store)).resolves.toBeUndefined();
  await expect(verdict((store) => new WatchedBadly(store, defect))).rejects.toThrow();
});
