import type {
  Bearer,
  ChangeTrackingStore,
  LeadRecord,
  PageQuery,
  PollStore,
  Revalidation,
  RevalidationRequest,
  Scope,
  User,
} from 'leadtap';
import type { PollCache } from '../../src/cache/poll-cache.ts';
import { scopeOf } from '../../src/leads/access.ts';
import type { RenderedPage } from '../../src/leads/poll.ts';

const unexpected = () => Promise.reject(new Error('not asked of a store that is watched'));

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

/** A store in which everybody exists and nothing changes. It notes what it is asked. */
export class StillStore implements PollStore, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly revalidations: RevalidationRequest[] = [];
  readonly readings: Scope[] = [];
  readonly #leadsOf: (scope: Scope) => readonly LeadRecord[];

  constructor(leadsOf: (scope: Scope) => readonly LeadRecord[] = () => []) {
    this.#leadsOf = leadsOf;
  }

  async revalidate(question: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    this.revalidations.push(question);
    return {
      readAt: 0,
      busy: new Set(),
      accounts: question.bearers.map(({ userId }) => ({ isRevoked: false, user: userOf(userId) })),
      seen: 'all',
      changes: known === undefined ? undefined : [],
    };
  }

  /** Oldest first, whatever is asked for. */
  async readLeads({ scope, limit }: PageQuery): Promise<readonly LeadRecord[]> {
    this.readings.push(scope);
    return this.#leadsOf(scope).slice(0, limit);
  }

  readonly isTokenRevoked = unexpected;
  readonly findUser = unexpected;
  readonly readPage = unexpected;
}

const { signal } = new AbortController();

interface Polled {
  readonly scope: Scope;
  readonly page: RenderedPage;
}

/** Polls once, from the beginning. */
export async function pollOnce(memory: PollCache, bearer: Bearer, limit = 100): Promise<Polled> {
  const answers = await memory.answers(bearer);
  const user = await answers.findUser();
  const scope = user && scopeOf(user);
  if (!scope) throw new Error(`${bearer.userId} is nobody`);
  return { scope, page: await answers.readPage({ scope, since: 0, limit }, () => signal) };
}
