import {
  type Change,
  type ChangeTrackingStore,
  type PollStore,
  StoreUnavailableError,
  type User,
} from 'leadtap';
import { sampleLead } from '../../cache/support/sample-lead.ts';
import { passTurns } from './manual-timers.ts';

/** Turns of the event loop that a read takes. */
const READ_TURNS = 3;

export interface ModelLead {
  readonly createdAt: number;
  readonly companyId: string;
  readonly branchId: string | null;
}

export const USERS = ['acme', 'acme/north', 'acme/south', 'globex'] as const;
export type UserName = (typeof USERS)[number];

/** `acme/north` sees the branch north of acme, and `acme` the whole of it. */
function userOf(id: string): User {
  const [companyId = '', branchId] = id.split('/');
  const accessLevel = branchId === undefined ? 'COMPANY' : 'BRANCH';
  const place = { branchId: branchId ?? null, departmentId: null };
  return { id, companyId, email: null, name: null, plan: 'PROFESSIONAL', accessLevel, ...place };
}

/** A store with a change log in memory, whose database can fail, lose its log, and have a writer that holds the lock. */
export class ModelStore implements PollStore {
  readonly users = new Map<string, User>(USERS.map((id) => [id, userOf(id)]));
  readonly revoked = new Set<string>();
  readonly leads: ModelLead[] = [];
  readonly busy = new Set<string>();
  isDown = false;
  /** So many reads of leads fail next. */
  failingReads = 0;
  readonly #clock: () => number;
  readonly #log: Change[] = [];
  /** Entries before it are lost. */
  #logStart = 0;
  #lastStamp = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  commitLead(companyId: string, branchId: string | null): void {
    this.#lastStamp = Math.max(this.#lastStamp, this.#clock()) + 1;
    this.leads.push({ createdAt: this.#lastStamp, companyId, branchId });
    this.logChange({ kind: 'leads-appended', id: companyId });
  }

  logChange(change: Change): void {
    this.#log.push(change);
  }

  loseLog(): void {
    this.#log.push({ kind: 'company', id: '' });
    this.#logStart = this.#log.length;
  }

  visible(userId: string, since: number): ModelLead[] {
    const user = this.users.get(userId);
    return this.leads.filter(
      ({ companyId, branchId, createdAt }) =>
        createdAt > since &&
        companyId === user?.companyId &&
        (user.accessLevel === 'COMPANY' || branchId === user.branchId),
    );
  }

  readonly changeTracking = {
    revalidate: async ({ companies, tokens }, known) => {
      this.#assertUp();
      const from = known === undefined ? -1 : Number(known);
      const accounts = tokens.map(({ userId, tokenId = '' }) => {
        return { isRevoked: this.revoked.has(tokenId), user: this.users.get(userId) };
      });
      const all = [...companies, ...accounts.flatMap(({ user }) => user?.companyId ?? [])];
      return {
        readAt: this.#clock(),
        busy: new Set(all.filter((id) => this.busy.has(id))),
        accounts,
        seen: String(this.#log.length),
        changes: from < this.#logStart ? undefined : this.#log.slice(from),
      };
    },
    findHistory: async () => [],
    readLeads: async ({ scope, since = 0, limit }) => {
      this.#assertUp();
      if (this.failingReads > 0) {
        this.failingReads -= 1;
        throw new StoreUnavailableError('the read has failed');
      }
      const inScope = this.leads.filter(
        ({ companyId, branchId, createdAt }) =>
          createdAt > since &&
          companyId === scope.companyId &&
          (scope.level === 'COMPANY' || (scope.level === 'BRANCH' && branchId === scope.branchId)),
      );
      const page = inScope.slice(0, limit).map(({ createdAt }) => sampleLead(createdAt));
      // What is committed meanwhile is not in the page.
      await passTurns(READ_TURNS);
      return page;
    },
  } satisfies ChangeTrackingStore;

  readonly readPage: PollStore['readPage'] = async (query) => {
    const leads = await this.changeTracking.readLeads(query);
    return { leads, readAt: Math.min(this.#clock(), this.#lastStamp), locked: false };
  };

  #assertUp(): void {
    if (this.isDown) throw new StoreUnavailableError('the database is down');
  }
}
