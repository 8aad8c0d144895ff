/**
 * The port between Leadtap and a database. No driver is named here; `sqlite/` and `postgres/` are adapters, and
 * `conformance.ts` is the suite that every adapter passes, ours or yours.
 */
import type { IssuedToken, LeadInput, LeadRecord, Organisation, Scope, User } from './records.ts';
import type { ServerFacts } from './server-facts.ts';

export interface PageQuery {
  readonly scope: Scope;
  /**
   * Given: the leads created strictly after it, oldest first. Absent: the newest leads, newest first.
   */
  readonly since?: number;
  readonly limit: number;
}

export interface Page {
  readonly leads: readonly LeadRecord[];
  /**
   * The moment of the answer. The delivery contract (D3): a lead that is missing from a page that was not
   * full is created after this moment.
   */
  readonly readAt: number;
  /**
   * False when a stuck writer kept the lock too long and the page was read without it. `readAt` is then the
   * company's last stamp instead of the clock, so that D3 holds for it all the same.
   */
  readonly locked: boolean;
  /**
   * The largest `createdAt` that the company has ever given, to leads that are deleted now too; absent when it has given
   * none. Read under the lock or before the leads, so that a lead that is missing from the page has a later stamp. Needed
   * only for an empty page without `since`: `Link` continues from here.
   */
  readonly lastStamp?: number | undefined;
}

/** What a poll asks, one question after the other: each is asked only if the answer before it was good. */
export interface PollQuestions {
  isTokenRevoked(tokenId: string): Promise<boolean>;
  findUser(userId: string): Promise<User | undefined>;
  /** The signal is aborted when the caller has gone: nobody waits for the page. */
  readPage(query: PageQuery, signal?: AbortSignal): Promise<Page>;
}

/** What has changed in a store, of all that a process may remember from it. */
export interface Change {
  /**
   * - `grown`: a company has new leads, all of them later than those it had
   * - `company`: something else that shows in its pages: a lead changed, went, or came in the past; a name; a status
   * - `user`: a user changed or went
   * - `token`: a token was revoked
   */
  readonly kind: 'leads-appended' | 'company' | 'user' | 'token';
  readonly id: string;
}

/** Whom a token names. */
export interface Bearer {
  readonly userId: string;
  readonly tokenId?: string | undefined;
}

/** What the store knows of a bearer. */
export interface Account {
  readonly isRevoked: boolean;
  readonly user: User | undefined;
}

/** What the polls of one turn want to know. */
export interface RevalidationRequest {
  readonly companies: readonly string[];
  /** Whose company is looked at as well. */
  readonly bearers: readonly Bearer[];
}

/** What one look at the store tells, to all polls that wait for it. */
export interface Revalidation {
  /**
   * The moment of their answers: whatever a later `readLeads` does not find in these companies is created after it (D3).
   * Not so in those that are busy.
   */
  readonly readAt: number;
  /** Companies that somebody was writing to. */
  readonly busy: ReadonlySet<string>;
  /** One for each bearer, in their order. */
  readonly accounts: readonly Account[];
  /** To be given to the next look. */
  readonly seen: string;
  /** All that was committed since the look that gave `known`. Undefined: anything may have changed. */
  readonly changes: readonly Change[] | undefined;
}

/** A store that can tell what has changed, so that a process may remember what it has read and never answer from the past. */
export interface ChangeTrackingStore {
  /** Waits for nobody. One question for any number of polls, asked after the last of them has arrived. */
  revalidate(question: RevalidationRequest, known: string | undefined): Promise<Revalidation>;
  /** What is committed now, without a lock; the look before it tells the moment. */
  readLeads(query: PageQuery, signal?: AbortSignal): Promise<readonly LeadRecord[]>;
}

/** What the endpoint needs. Enough to embed it over a database of your own. */
export interface PollStore extends PollQuestions {
  /** Absent: nothing is remembered, and every poll asks the questions one after the other. */
  readonly changeTracking?: ChangeTrackingStore;
}

/** Why a well-formed lead cannot be placed in its company. */
export type PlacementProblem =
  | {
      readonly field: 'companyId' | 'branchId' | 'departmentId';
      readonly reason: 'unknown';
      readonly value: string;
    }
  | {
      readonly field: 'departmentId';
      readonly reason: 'in-another-branch';
      readonly value: string;
      readonly branchId: string;
    }
  | {
      readonly field: 'statusValue';
      readonly reason: 'unknown';
      readonly value: string;
      readonly allowed: readonly string[];
    }
  /** A trigger of the operator's own kept it out of the table. */
  | { readonly field: 'id'; readonly reason: 'not-stored'; readonly value: string };

export type LeadResult =
  | { readonly kind: 'added' | 'updated'; readonly id: string; readonly createdAt: number }
  | { readonly kind: 'rejected'; readonly problem: PlacementProblem };

/** Durable. One result for each lead, in their order. */
export interface WriteOutcome {
  readonly kind: 'written';
  readonly results: readonly LeadResult[];
}

export interface WriteOptions {
  /** Keep the `createdAt` the leads bring instead of stamping them. */
  readonly historical?: boolean;
}

export interface ChangeCount {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}

export interface OrganisationChanges {
  readonly companies: ChangeCount;
  readonly branches: ChangeCount;
  readonly departments: ChangeCount;
  readonly statuses: ChangeCount;
  readonly users: ChangeCount;
  /** Statuses that the file no longer lists but that leads still have. */
  readonly keptStatuses: readonly StatusOfCompany[];
  /** Statuses that the file no longer lists and that no lead has: of all things, the only ones ever removed. */
  readonly removedStatuses: readonly StatusOfCompany[];
}

export interface StatusOfCompany {
  readonly companyId: string;
  readonly value: string;
}

/** Why an organisation file cannot be applied although it is well-formed. Nothing was changed. */
export type OrganisationConflict =
  | {
      readonly kind: 'user-in-another-company';
      readonly userId: string;
      readonly companyId: string;
      readonly existingCompanyId: string;
    }
  | {
      readonly kind: 'department-in-another-branch';
      readonly companyId: string;
      readonly departmentId: string;
      readonly branchId: string;
      readonly existingBranchId: string;
    };

export type ApplyOutcome =
  | { readonly kind: 'applied'; readonly changes: OrganisationChanges }
  | { readonly kind: 'conflict'; readonly conflicts: readonly OrganisationConflict[] };

export type UserChanges = Partial<
  Pick<User, 'plan' | 'accessLevel' | 'branchId' | 'departmentId' | 'name' | 'email'>
>;

export type UpdateUserOutcome =
  | { readonly kind: 'updated'; readonly user: User }
  | { readonly kind: 'no-such-user' }
  /** The place does not exist in the user's company, or the access level needs one that is not given. */
  | { readonly kind: 'place-missing' | 'place-unknown'; readonly field: 'branchId' | 'departmentId' };

export type ListedToken = IssuedToken & { readonly revokedAt: number | null };

export interface StoreStatus {
  /** Engine and version, for people. */
  readonly engine: string;
  /** The latest stamp of any company; 0 when there is none. Ahead of the clock after a burst. */
  readonly latestStamp: number;
  /** The time now, by the clock that stamps. */
  readonly now: number;
}

export interface AccountCounts {
  readonly companies: number;
  readonly users: number;
}

export interface Store extends PollStore {
  applyOrganisation(organisation: Organisation): Promise<ApplyOutcome>;
  /** In the order of their ids, after `afterId`, so that any number can be listed in pages. */
  listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]>;
  updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome>;
  removeUser(userId: string): Promise<boolean>;

  recordTokens(tokens: readonly IssuedToken[]): Promise<void>;
  listTokens(userId: string): Promise<readonly ListedToken[]>;
  findToken(tokenId: string): Promise<IssuedToken | undefined>;
  /** False when it was revoked before. */
  revokeToken(tokenId: string): Promise<boolean>;

  writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome>;
  /**
   * Every placement problem of each lead, without writing anything, so that a rejected line is reported with all its
   * errors. Absent: only the one that `writeLeads` gives is reported.
   */
  findPlacementProblems?(leads: readonly LeadInput[]): Promise<readonly (readonly PlacementProblem[])[]>;

  /** One cheap read, which rejects while polls could not be answered. Anybody may cause it, without a token. */
  ping(): Promise<void>;
  /** Looks at every company: for the metrics and the doctor, not for what strangers can ask. */
  status(): Promise<StoreStatus>;
  /** For the log at the start. Absent: the log has no counts. */
  countAccounts?(signal?: AbortSignal): Promise<AccountCounts>;
  close(): Promise<void>;
}

/** What stands in a database, found without making or changing anything. */
export interface Inspection {
  readonly exists: boolean;
  readonly schemaVersion: number;
  readonly expectedVersion: number;
  /** From the engine's own check of its files: a sentence for each fault. */
  readonly faults: readonly string[];
  /** Absent: the database is a file. */
  readonly server?: ServerFacts;
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  /** The names of the migrations that led from the one to the other. */
  readonly applied: readonly string[];
  /** What could not be done although the schema is right, a sentence each. */
  readonly warnings?: readonly string[];
}

/** The database cannot be reached or cannot take the work right now; the same call may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** The caller of a poll has gone, so the work for it was given up. */
export class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
}

/** The database was made by a newer Leadtap, or must be migrated first. */
export class SchemaVersionError extends Error {
  override readonly name = 'SchemaVersionError';
  readonly found: number;
  readonly expected: number;

  constructor(found: number, expected: number) {
    super(`the schema is at version ${found}, this program needs version ${expected}`);
    this.found = found;
    this.expected = expected;
  }
}

/** What is there is not a database that Leadtap made. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}
