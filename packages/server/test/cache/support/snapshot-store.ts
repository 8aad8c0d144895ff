import assert from 'node:assert/strict';
import {
  type Account,
  type Change,
  type ChangeTrackingStore,
  type LeadRecord,
  type Page,
  type PageQuery,
  type PollStore,
  type Revalidation,
  type RevalidationRequest,
  StoreUnavailableError,
  type User,
  type VerifiedToken,
} from 'leadtap';

/** What is committed at a moment. The name of a lead's company and of its branch are their ids here. */
export interface State {
  readonly users: ReadonlyMap<string, User>;
  readonly revoked: ReadonlySet<string>;
  readonly leads: readonly LeadRecord[];
}

interface Version {
  readonly state: State;
  /** The changes since the version before. */
  readonly changes: readonly Change[];
}

/** What a page shows of a state. */
export function pageOf({ leads }: State, { scope, since, limit }: PageQuery): readonly LeadRecord[] {
  const visible = leads.filter((lead) => isIn(lead, scope)).sort((a, b) => a.createdAt - b.createdAt);
  if (since === undefined) return visible.reverse().slice(0, limit);
  return visible.filter(({ createdAt }) => createdAt > since).slice(0, limit);
}

const isIn = ({ companyName, branchName }: LeadRecord, scope: PageQuery['scope']): boolean =>
  companyName === scope.companyId && (scope.level !== 'BRANCH' || branchName === scope.branchId);

/** A query that runs: each step reads what is committed then, and the last one returns the result. */
interface PendingQuery {
  readonly steps: (() => void)[];
  /** Ticks until the next step. */
  wait: number;
}

/**
 * A store whose queries are controlled by the test: it decides when each reads the database, and in which order they return.
 * A revalidation reads the accounts first and the changes later, as PostgreSQL does in two statements.
 */
export class SnapshotStore implements PollStore, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly versions: Version[];
  readonly #pending: PendingQuery[] = [];
  readonly #nextWait: () => number;
  /** Whether the next query fails. */
  nextFails: () => boolean;

  /** `nextWait` gives the number of ticks that the next step of a query takes. */
  constructor(state: State, nextWait: () => number = () => 0, nextFails: () => boolean = () => false) {
    this.versions = [{ state, changes: [] }];
    this.#nextWait = nextWait;
    this.nextFails = nextFails;
  }

  /** The number of the newest version. */
  get now(): number {
    return this.versions.length - 1;
  }

  get state(): State {
    return this.stateAt(this.now);
  }

  stateAt(version: number): State {
    const { state } = this.versions[version] ?? {};
    assert(state);
    return state;
  }

  commit(state: Partial<State>, ...changes: readonly Change[]): void {
    this.versions.push({ state: { ...this.state, ...state }, changes });
  }

  /** The number of queries that have not returned. */
  get pending(): number {
    return this.#pending.length;
  }

  /** Takes the next step of one query. */
  advance(index: number): void {
    const query = this.#pending[index];
    if (!query) return;
    query.steps.shift()?.();
    query.wait = this.#nextWait();
    if (query.steps.length === 0) this.#pending.splice(index, 1);
  }

  /** Lets some time pass for all queries. */
  tick(): void {
    for (const query of [...this.#pending]) {
      query.wait -= 1;
      while (query.wait < 0 && query.steps.length > 0) this.advance(this.#pending.indexOf(query));
    }
  }

  async findHistory(): Promise<readonly number[]> {
    return [];
  }

  revalidate({ tokens }: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    let accounts: readonly Account[];
    let seen: number;
    return this.#query<Revalidation>(
      () => {
        accounts = tokens.map((bearer) => this.#accountOf(bearer));
      },
      () => {
        seen = this.now;
      },
      () => ({
        readAt: momentOf(seen),
        busy: new Set(),
        accounts,
        seen: String(seen),
        changes:
          known === undefined
            ? undefined
            : this.versions.slice(Number(known) + 1, seen + 1).flatMap(({ changes }) => changes),
      }),
    );
  }

  readLeads(query: PageQuery): Promise<readonly LeadRecord[]> {
    let leads: readonly LeadRecord[];
    return this.#query(
      () => {
        leads = pageOf(this.state, query);
      },
      () => leads,
    );
  }

  #accountOf({ userId, tokenId = '' }: VerifiedToken): Account {
    return { isRevoked: this.state.revoked.has(tokenId), user: this.state.users.get(userId) };
  }

  #query<T>(...steps: [...(() => void)[], () => T]): Promise<T> {
    return new Promise((resolve, reject) => {
      const result = steps.pop() as () => T;
      const end = () =>
        this.nextFails() ? reject(new StoreUnavailableError('no connection')) : resolve(result());
      this.#pending.push({ steps: [...steps, end], wait: this.#nextWait() });
    });
  }

  readPage(query: PageQuery): Promise<Page> {
    let page: Page;
    return this.#query(
      () => {
        const lastStamp = this.state.leads.map(({ createdAt }) => createdAt).sort((a, b) => b - a)[0];
        page = { leads: pageOf(this.state, query), readAt: momentOf(this.now), locked: true, lastStamp };
      },
      () => page,
    );
  }
}

/** The leads of a version are stamped before this, and after the revalidations that did not see it (D3). */
export const momentOf = (version: number): number => 1_000_000 + version * 1000;
export const versionAt = (moment: number): number => (moment - momentOf(0)) / 1000;
