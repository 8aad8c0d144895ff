/**
 * The port between Leadtap and a database. It names no driver: `sqlite/` and `postgres/` are its adapters, and
 * `@leadtap/store-conformance` is the test suite that every adapter must pass, ours or yours.
 */
import type { ConsumerStore } from './consumers.ts';
import type { HookStore } from './hooks.ts';
import type { LeadRemoval } from './lead-removal.ts';
import type { OrganisationReader } from './organisation-reader.ts';
import type {
  IssuedToken,
  LeadInput,
  LeadRecord,
  LeadScope,
  Organisation,
  StoredLead,
  User,
} from './records.ts';

export * from './errors.ts';

export interface PageQuery {
  readonly scope: LeadScope;
  /** Given: the leads created strictly after it, oldest first. Absent: the newest leads, newest first. */
  readonly since?: number;
  readonly limit: number;
}

export interface Page {
  readonly leads: readonly LeadRecord[];
  /**
   * The time of the read. Delivery contract, D3: a lead that is missing from a page that was not full is created after
   * this time.
   */
  readonly readAt: number;
  /**
   * False when a writer held the lock for too long and the page was read without it. `readAt` is then the company's
   * last stamp instead of the clock, so that D3 still holds.
   */
  readonly locked: boolean;
  /**
   * The largest `createdAt` that the company has ever given, also to leads that have been deleted; absent when it has
   * given none. Read under the lock or before the leads, so that a lead that is missing from the page has a later
   * stamp. Only an empty page without `since` needs it: its `Link` continues from here.
   */
  readonly lastStamp?: number | undefined;
}

/** The queries of one poll, in this order. Each is sent only if the poll was not refused after the one before. */
export interface PollQueries {
  isTokenRevoked(tokenId: string): Promise<boolean>;
  findUser(userId: string): Promise<User | undefined>;
  /** The signal is aborted when the client disconnects. The store may then reject with `ClientDisconnectedError`. */
  readPage(query: PageQuery, signal?: AbortSignal): Promise<Page>;
}

/** An entry of the change log: cached data that it makes invalid. */
export interface Change {
  /**
   * - `leads-appended`: a company has new leads, all of them later than its other leads
   * - `company`: any other change to the company's pages: a lead was updated, deleted or imported as history; a place or
   *   the company was renamed; a status was changed
   * - `user`: a user was changed or removed
   * - `token`: a token was revoked
   */
  readonly kind: 'leads-appended' | 'company' | 'user' | 'token';
  /** Of the company, the user or the token. */
  readonly id: string;
}

/** What a valid token says about who sends it: the part of a `VerifiedToken` that a store needs. Unlike a `ConsumerKey`, it may have any token id. */
export interface Bearer {
  readonly userId: string;
  /** Absent if the identity provider gives none; such a token cannot be revoked alone. */
  readonly tokenId?: string | undefined;
  /** When the token is no longer accepted, in milliseconds. Absent: never. */
  readonly expiresAt?: number | undefined;
}

/** The stored state of a bearer. */
export interface Account {
  readonly isRevoked: boolean;
  readonly user: User | undefined;
}

/** The combined request of all polls that wait for the same revalidation. */
export interface RevalidationRequest {
  readonly companies: readonly string[];
  /** The companies of these users are revalidated as well. */
  readonly bearers: readonly Bearer[];
}

/** The result of one revalidation, shared by all polls that wait for it. */
export interface Revalidation {
  /**
   * The time of their answers: a lead of these companies that a later `readLeads` does not return is created after it
   * (D3). It does not hold for the companies in `busy`.
   */
  readonly readAt: number;
  /** Companies whose lock was held by a writer. */
  readonly busy: ReadonlySet<string>;
  /** One for each bearer, in the same order. */
  readonly accounts: readonly Account[];
  /** The position in the change log. Pass it as `known` to the next revalidation. */
  readonly seen: string;
  /** All changes committed since the revalidation that returned `known`. Undefined: discard all cached data. */
  readonly changes: readonly Change[] | undefined;
}

/** A store that keeps a change log, so that a process can cache what it reads and never answers with stale data. */
export interface ChangeTrackingStore {
  /** Never waits for a lock. One call serves any number of polls and is made after the last of them has arrived. */
  revalidate(request: RevalidationRequest, known: string | undefined): Promise<Revalidation>;
  /** Reads what is committed now, without a lock. The revalidation before it gives the time of the answer. */
  readLeads(query: PageQuery, signal?: AbortSignal): Promise<readonly LeadRecord[]>;
}

/** What the endpoint needs: enough to serve it from a database of your own. */
export interface PollStore extends PollQueries {
  /** Absent: nothing is cached, and each poll sends its queries one after the other. */
  readonly changeTracking?: ChangeTrackingStore;
}

/** Why a well-formed lead is rejected: its company does not have the place or status that it names. */
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
  /** A trigger of the operator prevented the insert. */
  | { readonly field: 'id'; readonly reason: 'not-stored'; readonly value: string }
  /** `id`: the lead exists outside of the scope. Otherwise the lead would be placed outside of it. */
  | {
      readonly field: 'id' | 'branchId' | 'departmentId';
      readonly reason: 'outside-scope';
      readonly value: string | null;
    }
  /** Of a historical lead: all later leads would have to follow it. */
  | { readonly field: 'createdAt'; readonly reason: 'in-future'; readonly value: string }
  /** The lead was erased for good. */
  | { readonly field: 'id'; readonly reason: 'erased'; readonly value: string }
  /** `onlyUpdate` was given, and there is no lead with this id. */
  | { readonly field: 'id'; readonly reason: 'no-content'; readonly value: string };

export interface WrittenLead {
  readonly kind: 'added' | 'updated';
  readonly id: string;
  readonly createdAt: number;
}

export type LeadResult = WrittenLead | { readonly kind: 'rejected'; readonly problem: PlacementProblem };

/** The batch is durable. One result for each lead, in the same order. */
export interface WriteOutcome {
  readonly kind: 'written';
  readonly results: readonly LeadResult[];
}

export interface WriteOptions {
  /** Keep the `createdAt` of the leads instead of stamping them. */
  readonly historical?: boolean;
  /** Add leads that were erased before, as new leads. Default: they are rejected. */
  readonly allowErased?: boolean;
}

export interface FindProblemsOptions extends WriteOptions {
  /** Leads that exist outside of it have a problem. Default: none has. */
  readonly scope?: LeadScope;
}

/** All leads are durable, or none was written. */
export type WriteAllOutcome =
  | {
      readonly kind: 'written';
      readonly results: readonly WrittenLead[];
      /** These are the results of an earlier, equal request with the same key. Nothing was written now. */
      readonly isRepeated?: true;
    }
  /** The key was used before, for another request. Nothing was written. */
  | { readonly kind: 'key-reused' }
  /** One list of problems for each lead, in the same order; empty for a lead without problems. */
  | { readonly kind: 'rejected'; readonly problems: readonly (readonly PlacementProblem[])[] }
  /** The token of the sender is revoked, or the user was removed or does not have this scope any more. */
  | { readonly kind: 'account-changed' };

/** What `writeLeads` would do with a lead, and the place that the lead would have. */
export type PlannedLead =
  | {
      readonly kind: 'added' | 'updated';
      readonly branchId: string | null;
      readonly departmentId: string | null;
    }
  | { readonly kind: 'rejected'; readonly problem: PlacementProblem };

export interface LeadListQuery {
  /** Absent: the leads of all companies. */
  readonly companyId?: string | undefined;
  /** Given: the leads created strictly after it, oldest first. Absent: all leads, newest first. */
  readonly since?: number | undefined;
  /** The last lead of the page before. `createdAt` alone is unique only within a company. */
  readonly after?: Pick<StoredLead, 'companyId'> & Pick<LeadRecord, 'createdAt'>;
  readonly limit: number;
}

/** The leads of all companies that were created in one minute. */
export interface LeadCount {
  /** The start of the minute. */
  readonly minute: number;
  readonly count: number;
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
  /** Statuses that the file no longer lists but that leads still use. */
  readonly keptStatuses: readonly StatusOfCompany[];
  /** Statuses that the file no longer lists and that no lead uses. Nothing else is ever removed. */
  readonly removedStatuses: readonly StatusOfCompany[];
}

export interface StatusOfCompany {
  readonly companyId: string;
  readonly value: string;
}

/** Why a well-formed organisation file is refused. Nothing was changed. */
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
  /** The access level needs a place that is not given, or the user's company does not have the place. */
  | { readonly kind: 'place-missing' | 'place-unknown'; readonly field: 'branchId' | 'departmentId' };

export type AddUserOutcome =
  | { readonly kind: 'added'; readonly user: User }
  /** Nothing was changed. */
  | { readonly kind: 'exists'; readonly user: User }
  | { readonly kind: 'no-such-company' }
  | Extract<UpdateUserOutcome, { readonly field: string }>;

export type ListedToken = IssuedToken & { readonly revokedAt: number | null };

export interface StoreStatus {
  /** Engine and version, to be displayed. */
  readonly engine: string;
  /** The latest stamp of all companies; 0 when there is none. After a burst it is ahead of the clock. */
  readonly latestStamp: number;
  /** The current time of the clock that stamps leads. */
  readonly now: number;
}

export interface AccountCounts {
  readonly companies: number;
  readonly users: number;
}

/** The key of a request that sends leads, and its content, as hashes. */
export interface IdempotentRequest {
  readonly keyHash: string;
  readonly bodyHash: string;
  /** The ids that are derived from the key. */
  readonly derivedIds: ReadonlySet<string>;
  /** The key and the ids of the leads if 0.2.0 has stored the same request: there, keys belonged to the company. */
  readonly earlier?: { readonly keyHash: string; readonly ids: readonly string[] };
}

/** What the intake needs: enough to accept leads over HTTP into a database of your own. */
export interface IntakeStore extends PollStore {
  /**
   * Writes these leads in one transaction, or none of them if one is rejected. A lead that exists outside of the scope, or
   * would be placed outside of it, is rejected. The account of the sender, if given, is checked in the same transaction: a change
   * of it is committed either after these leads, or before, and then none is written.
   */
  writeAllLeads(
    leads: readonly LeadInput[],
    scope: LeadScope,
    sender?: Bearer,
    /** Stored in the same transaction. If its key is known, nothing is written. */
    request?: IdempotentRequest,
  ): Promise<WriteAllOutcome>;
  /**
   * Finds all placement problems of each lead and writes nothing. `writeLeads` returns only the first problem of a lead.
   * Absent: an import reports only that one.
   */
  findPlacementProblems?(
    leads: readonly LeadInput[],
    options?: FindProblemsOptions,
  ): Promise<readonly (readonly PlacementProblem[])[]>;
}

export interface Store extends IntakeStore {
  applyOrganisation(organisation: Organisation): Promise<ApplyOutcome>;
  /** Absent: the organisation cannot be exported. */
  readonly organisation?: OrganisationReader;
  /** Sorted by id, starting after `afterId`: page by page for any number of users. */
  listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]>;
  /** Absent: users are added with `applyOrganisation` only. */
  addUser?(user: User): Promise<AddUserOutcome>;
  updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome>;
  removeUser(userId: string): Promise<boolean>;

  recordTokens(tokens: readonly IssuedToken[]): Promise<void>;
  listTokens(userId: string): Promise<readonly ListedToken[]>;
  findToken(tokenId: string): Promise<IssuedToken | undefined>;
  /** Sorted by their bytes. */
  listTokenIds(after: string, limit: number): Promise<readonly string[]>;
  /** False when the token was already revoked. */
  revokeToken(tokenId: string): Promise<boolean>;

  writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome>;
  /** Compares each lead with the stored ones, not with the others of the call. Writes nothing and takes no lock. */
  planLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<readonly PlannedLead[]>;
  /** A page of leads for the operator, whatever their places, sorted by `createdAt` and then by company. */
  listLeads(query: LeadListQuery): Promise<readonly StoredLead[]>;
  /** The leads with this id, of one company or of all, sorted by company. */
  findLeads(id: string, companyId?: string): Promise<readonly StoredLead[]>;

  /**
   * Counts the leads with `createdAt` in this time by minute, sorted; minutes without leads are absent. Both bounds are full
   * minutes; `until` is exclusive. For the status page. Absent: the page does not show them.
   */
  countLeadsByMinute?(from: number, until: number): Promise<readonly LeadCount[]>;

  /** Erases persons and prunes old leads. Absent: the store has no such commands. */
  readonly removal?: LeadRemoval;

  /** Who polls, and how far each has come. Absent: it is not recorded. */
  readonly consumers?: ConsumerStore;

  /** Webhook subscriptions. Absent: there are none. */
  readonly hooks?: HookStore;

  /** One cheap read that rejects while polls would fail. `/readyz` calls it for clients without a token. */
  ping(): Promise<void>;
  /** May read every company. For the metrics and the doctor, never for requests without a token. */
  status(): Promise<StoreStatus>;
  /** The size of the whole database, for the status page. Absent: the page does not show it. */
  readSize?(): Promise<number>;
  /** Counts for the log line at the start. Absent: the line has no counts. */
  countAccounts?(signal?: AbortSignal): Promise<AccountCounts>;
  close(): Promise<void>;
}

/** The state of a database, read without creating or changing anything. */
export interface Inspection {
  readonly exists: boolean;
  readonly schemaVersion: number;
  readonly expectedVersion: number;
  /** Errors that the engine found in its own files, one sentence each. */
  readonly faults: readonly string[];
  /** Absent: the database is a file. */
  readonly server?: ServerFacts;
}

/** The settings of a database server that the doctor checks. */
export interface ServerFacts {
  /** The clock of the server, which stamps the leads, minus the clock of this machine. */
  readonly clockAheadMs: number;
  /** The largest number of connections that this role can have. */
  readonly connectionLimit: number;
  /** A standby accepts no leads, and its locks do not cover the writers of its primary. */
  readonly isStandby: boolean;
  /** False: a crash can lose acknowledged leads. */
  readonly isDurable: boolean;
  /** The default isolation level of our transactions. */
  readonly isolation: string;
  readonly encoding: string;
  /** Roles that the schema grants rights to and that do not exist. */
  readonly missingRoles: readonly string[];
}

export interface BackupOptions {
  readonly signal: AbortSignal;
  /** The total is an estimate: a copy has no free pages. */
  readonly onProgress?: (bytes: number, totalBytes: number) => void;
}

export interface BackupReport {
  readonly bytes: number;
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  /** The names of the migrations that were applied. */
  readonly applied: readonly string[];
  /** What failed without making the schema unusable, one sentence each. */
  readonly warnings?: readonly string[];
}
