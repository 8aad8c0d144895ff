import { join } from 'node:path';
import { type Change, type Look, openSqliteStore, type Store, type WatchedStore } from 'leadtap';
import { storeConformance } from 'leadtap/conformance';
import { expect, it } from 'vitest';
import { tempFolder } from '../harness/temp-folder.ts';
import { DelegatingStore } from './delegating-store.ts';

type Watched = (inner: WatchedStore) => Partial<WatchedStore>;

class WatchedBadly extends DelegatingStore {
  readonly watched: WatchedStore;

  constructor(inner: Store, defect: Watched) {
    super(inner);
    const { watched } = inner;
    if (!watched) throw new Error('the store cannot be watched');
    this.watched = {
      look: (...question) => watched.look(...question),
      readLeads: (...query) => watched.readLeads(...query),
      ...defect(watched),
    };
  }
}

/** Spoils what a look tells. */
const looks =
  (spoil: (look: Look) => Partial<Look>): Watched =>
  (inner) => ({
    look: async (...question) => {
      const look = await inner.look(...question);
      return { ...look, ...spoil(look) };
    },
  });

const hides = (hidden: Change['kind']): Watched =>
  looks(({ changes }) => ({ changes: changes?.filter(({ kind }) => kind !== hidden) }));

/** What is wrong, and a check that must see it. */
const DEFECTS: readonly [string, Watched, string][] = [
  ['hides new leads', hides('grown'), 'tells of a new lead'],
  ['hides what changes in a company', hides('company'), 'tells of another name of a department'],
  ['hides users', hides('user'), 'tells of another plan'],
  ['hides revoked tokens', hides('token'), 'tells of a revoked token'],
  [
    'says that nothing has changed before the first look',
    looks(({ changes = [] }) => ({ changes })),
    'the first look',
  ],
  ['takes any word for its own', looks(({ changes = [] }) => ({ changes })), 'a known that no look gave'],
  [
    'tells what it is asked about, and not who that is',
    looks(({ accounts }) => ({ accounts: accounts.map(() => ({ isRevoked: false, user: undefined })) })),
    'who the bearers are',
  ],
  [
    'lets revoked tokens pass',
    looks(({ accounts }) => ({ accounts: accounts.map(({ user }) => ({ isRevoked: false, user })) })),
    'who the bearers are',
  ],
  [
    'mixes up the bearers',
    looks(({ accounts }) => ({ accounts: accounts.toReversed() })),
    'who the bearers are',
  ],
  [
    'is always told from the beginning',
    (inner) => {
      let first: string | undefined;
      return {
        look: async (question, known) => {
          const look = await inner.look(question, known === undefined ? undefined : first);
          first ??= look.seen;
          return look;
        },
      };
    },
    'tells of another plan',
  ],
  [
    'answers with a time after its snapshot',
    looks(({ readAt }) => ({ readAt: readAt + 1 })),
    'D3: a lead is in what is read',
  ],
  ['overlooks who is writing', looks(() => ({ busy: new Set() })), 'D3: a look that begins while'],
  [
    'overlooks it for bearers alone',
    (inner) => ({
      look: async (question, known) => {
        const look = await inner.look(question, known);
        return { ...look, busy: new Set(question.companies.filter((company) => look.busy.has(company))) };
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
