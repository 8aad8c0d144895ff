import type {
  ChangeTrackingStore,
  LeadRecord,
  LeadScope,
  PageQuery,
  PollStore,
  Revalidation,
  RevalidationRequest,
  User,
  VerifiedToken,
} from 'leadtap';
import { scopeOf } from '../../../src/leads/access.ts';
import { AccountCache } from '../../../src/poll/cache/account-cache.ts';
import { PollCache, type RenderedPage } from '../../../src/poll/cache/poll-cache.ts';

const unexpected = () => Promise.reject(new Error('a store with change tracking does not need this query'));

/** The user `acme/north` sees the branch north of acme, and `acme` the whole of it. */
function userOf(id: string): User {
  const [companyId = '', branchId] = id.split('/');
  return {
    id,
    companyId,
    email: null,
    name: null,
    plan: 'PROFESSIONAL',
    accessLevel: branchId === undefined ? 'COMPANY' : 'BRANCH',
    branchId: branchId ?? null,
    departmentId: null,
  };
}

/** A stub in which every user exists and nothing changes. It records the queries. */
export class StubStore implements PollStore, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly revalidations: RevalidationRequest[] = [];
  readonly reads: LeadScope[] = [];
  readonly #leadsOf: (scope: LeadScope) => readonly LeadRecord[];

  constructor(leadsOf: (scope: LeadScope) => readonly LeadRecord[] = () => []) {
    this.#leadsOf = leadsOf;
  }

  async findHistory(): Promise<readonly number[]> {
    return [];
  }

  async revalidate(request: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    this.revalidations.push(request);
    return {
      readAt: 0,
      busy: new Set(),
      accounts: request.tokens.map(({ userId }) => ({ isRevoked: false, user: userOf(userId) })),
      seen: 'all',
      changes: known === undefined ? undefined : [],
    };
  }

  /** Always oldest first. */
  async readLeads({ scope, limit }: PageQuery): Promise<readonly LeadRecord[]> {
    this.reads.push(scope);
    return this.#leadsOf(scope).slice(0, limit);
  }

  readonly readPage = unexpected;
}

const { signal } = new AbortController();

interface Polled {
  readonly scope: LeadScope;
  readonly page: RenderedPage;
}

/** Polls from the beginning, with caches of these sizes. */
export function createPoll(store: StubStore, maxAccountBytes?: number, maxFeedBytes?: number) {
  const accounts = new AccountCache(store, maxAccountBytes);
  const cache = new PollCache(store, accounts, maxFeedBytes);
  return async (bearer: VerifiedToken, limit = 100): Promise<Polled> => {
    const { user, revalidation } = await accounts.revalidateFor(bearer);
    const scope = user && scopeOf(user);
    if (!scope) throw new Error(`${bearer.userId} has no scope`);
    return { scope, page: await cache.readPage({ scope, since: 0, limit }, revalidation, () => signal) };
  };
}
