import assert from 'node:assert/strict';
import {
  type Account,
  type Bearer,
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
} from 'leadtap';

/** What is committed at a moment. The name of a lead's company and of its branch are their ids here. */
export interface State {
  readonly users: ReadonlyMap<string, User>;
  readonly revoked: ReadonlySet<string>;
  readonly leads: readonly LeadRecord[];
}

interface Version {
  readonly state: State;
  /** What led to it. */
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

/** One on its way: each step looks at what is committed then, and the last one is the answer. */
interface Asked {
  readonly steps: (() => void)[];
  /** Ticks until the next step. */
  wait: number;
}

/**
 * A store whose questions take as long as the test likes: it says when each looks at the database, and in which order they
 * are answered. A look reads the accounts first and the changes later, as PostgreSQL does in two statements.
 */
export class SnapshotStore implements PollStore, ChangeTrackingStore {
  readonly changeTracking: ChangeTrackingStore = this;
  readonly versions: Version[];
  readonly #pending: Asked[] = [];
  readonly #nextWait: () => number;
  /** Says of each question whether it fails. */
  nextFails: () => boolean;

  /** Says for each step of a question how many ticks it takes. */
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

  /** How many questions are not answered yet. */
  get pending(): number {
    return this.#pending.length;
  }

  /** Takes the next step of one of the questions. */
  advance(index: number): void {
    const asked = this.#pending[index];
    if (!asked) return;
    asked.steps.shift()?.();
    asked.wait = this.#nextWait();
    if (asked.steps.length === 0) this.#pending.splice(index, 1);
  }

  /** Lets some time pass, for all of them. */
  tick(): void {
    for (const asked of [...this.#pending]) {
      asked.wait -= 1;
      while (asked.wait < 0 && asked.steps.length > 0) this.advance(this.#pending.indexOf(asked));
    }
  }

  revalidate({ bearers }: RevalidationRequest, known: string | undefined): Promise<Revalidation> {
    let accounts: readonly Account[];
    let seen: number;
    return this.#ask<Revalidation>(
      () => {
        accounts = bearers.map((bearer) => this.#accountOf(bearer));
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
    return this.#ask(
      () => {
        leads = pageOf(this.state, query);
      },
      () => leads,
    );
  }

  #accountOf({ userId, tokenId = '' }: Bearer): Account {
    return { isRevoked: this.state.revoked.has(tokenId), user: this.state.users.get(userId) };
  }

  #ask<T>(...steps: [...(() => void)[], () => T]): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = steps.pop() as () => T;
      const end = () =>
        this.nextFails() ? reject(new StoreUnavailableError('away for a moment')) : resolve(answer());
      this.#pending.push({ steps: [...steps, end], wait: this.#nextWait() });
    });
  }

  isTokenRevoked(): Promise<boolean> {
    return Promise.reject(new Error('not asked of a store that is watched'));
  }
  findUser(): Promise<undefined> {
    return Promise.reject(new Error('not asked of a store that is watched'));
  }
  readPage(query: PageQuery): Promise<Page> {
    let page: Page;
    return this.#ask(
      () => {
        const lastStamp = this.state.leads.map(({ createdAt }) => createdAt).sort((a, b) => b - a)[0];
        page = { leads: pageOf(this.state, query), readAt: momentOf(this.now), locked: true, lastStamp };
      },
      () => page,
    );
  }
}

/** The leads of a version are stamped before this, and after the looks that did not see it (D3). */
export const momentOf = (version: number): number => 1_000_000 + version * 1000;
export const versionAt = (moment: number): number => (moment - momentOf(0)) / 1000;
