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

type Defect = (inner: ChangeTrackingStore) => Partial<ChangeTrackingStore>;

class DefectiveStore extends DelegatingStore {
  readonly changeTracking: ChangeTrackingStore;

  constructor(inner: Store, defect: Defect) {
    super(inner);
    const { changeTracking } = inner;
    if (!changeTracking) throw new Error('the store has no change tracking');
    this.changeTracking = {
      revalidate: (...request) => changeTracking.revalidate(...request),
      readLeads: (...query) => changeTracking.readLeads(...query),
      ...defect(changeTracking),
    };
  }
}

/** Changes the result of a revalidation. */
const revalidations =
  (change: (revalidation: Revalidation) => Partial<Revalidation>): Defect =>
  (inner) => ({
    revalidate: async (...request) => {
      const revalidation = await inner.revalidate(...request);
      return { ...revalidation, ...change(revalidation) };
    },
  });

const hides = (hidden: Change['kind']): Defect =>
  revalidations(({ changes }) => ({ changes: changes?.filter(({ kind }) => kind !== hidden) }));

/** A defect, and a part of the name of the check that must detect it. */
const DEFECTS: readonly [string, Defect, string][] = [
  ['hides new leads', hides('leads-appended'), 'reports a new lead'],
  ['hides what changes in a company', hides('company'), 'reports another name of a department'],
  ['hides users', hides('user'), 'reports another plan'],
  ['hides revoked tokens', hides('token'), 'reports a revoked token'],
  [
    'reports no change to the first revalidation',
    revalidations(({ changes = [] }) => ({ changes })),
    'the first revalidation',
  ],
  ['accepts any position', revalidations(({ changes = [] }) => ({ changes })), 'an unknown position'],
  [
    'returns no users',
    revalidations(({ accounts }) => ({
      accounts: accounts.map(() => ({ isRevoked: false, user: undefined })),
    })),
    'the account of each bearer',
  ],
  [
    'ignores revoked tokens',
    revalidations(({ accounts }) => ({ accounts: accounts.map(({ user }) => ({ isRevoked: false, user })) })),
    'the account of each bearer',
  ],
  [
    'returns the tokens in another order',
    revalidations(({ accounts }) => ({ accounts: accounts.toReversed() })),
    'the account of each bearer',
  ],
  [
    'always reports from the beginning',
    (inner) => {
      let first: string | undefined;
      return {
        revalidate: async (request, known) => {
          const revalidation = await inner.revalidate(request, known === undefined ? undefined : first);
          first ??= revalidation.seen;
          return revalidation;
        },
      };
    },
    'reports another plan',
  ],
  [
    'answers with a time after its snapshot',
    revalidations(({ readAt }) => ({ readAt: readAt + 1 })),
    'D3: a lead is read after a revalidation',
  ],
  [
    'does not report busy companies',
    revalidations(() => ({ busy: new Set() })),
    'D3: a revalidation that starts while',
  ],
  [
    'does not report busy companies of tokens',
    (inner) => ({
      revalidate: async (request, known) => {
        const revalidation = await inner.revalidate(request, known);
        return {
          ...revalidation,
          busy: new Set(request.companies.filter((company) => revalidation.busy.has(company))),
        };
      },
    }),
    'D3: a revalidation for the company of a bearer',
  ],
  [
    'reads the whole company for every scope',
    (inner) => ({
      readLeads: ({ scope: { companyId }, ...query }) =>
        inner.readLeads({ ...query, scope: { level: 'COMPANY', companyId } }),
    }),
    'readLeads returns',
  ],
];

it.each(DEFECTS)('the conformance suite fails a store that %s', async (_what, defect, fragment) => {
  const checks = storeConformance.filter(({ name }) => name.includes(fragment));
  expect(checks).toHaveLength(1);
  const runCheck = (wrap: (store: Store) => Store) => {
    const file = join(tempFolder(), 'leadtap.db');
    // Without waiting for locks, so that a revalidation meets a concurrent writer.
    const openStore = async (options: { clock: () => number }) =>
      wrap(await openSqliteStore({ file, pollLockWaitMs: 0, ...options }));
    return checks[0]?.run(async () => ({ openStore, remove: async () => undefined }));
  };
  await expect(runCheck((store) => store)).resolves.toBeUndefined();
  await expect(runCheck((store) => new DefectiveStore(store, defect))).rejects.toThrow();
});
