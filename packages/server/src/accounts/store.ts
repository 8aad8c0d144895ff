/** What the commands for companies, users and tokens need of a database. */
import type { Company, IssuedToken, Organisation, Status, User } from './records.ts';

/** The stored state of a token and its user. */
export interface Account {
  readonly isRevoked: boolean;
  readonly user: User | undefined;
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
    }
  /** Only with `onlyNewUsers`. */
  | { readonly kind: 'user-exists'; readonly userId: string; readonly companyId: string };

export interface ApplyOptions {
  /** A user who exists already is a conflict, and not updated. */
  readonly onlyNewUsers?: boolean;
}

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

export type ListedToken = IssuedToken & { readonly revokedAt: number | null };

export interface AccountCounts {
  readonly companies: number;
  readonly users: number;
}

/** A company as it is stored, without its users. */
export interface StoredCompany extends Omit<Company, 'users' | 'statuses'> {
  /** In the order of the catalogue. */
  readonly statuses: readonly Status[];
}

/** Reads the organisation page by page. All lists are sorted by id, byte by byte, so that the same data has one order. */
export interface OrganisationReader {
  /** The companies after this id, with their branches and departments. */
  readCompanies(afterId: string | undefined, limit: number): Promise<readonly StoredCompany[]>;
  readCompany(id: string): Promise<StoredCompany | undefined>;
  /** The companies after this id. */
  readCompanyNames(
    afterId: string | undefined,
    limit: number,
  ): Promise<readonly Pick<StoredCompany, 'id' | 'name'>[]>;
  /** The users of a company after this id. */
  readUsers(companyId: string, afterId: string | undefined, limit: number): Promise<readonly User[]>;
}

/** Companies, users and tokens in a database. */
export interface AccountStore {
  applyOrganisation(organisation: Organisation, options?: ApplyOptions): Promise<ApplyOutcome>;
  readonly organisation: OrganisationReader;
  findUser(userId: string): Promise<User | undefined>;
  /** Sorted by id, starting after `afterId`: page by page for any number of users. */
  listUsers(afterId: string | undefined, limit: number): Promise<readonly User[]>;
  updateUser(userId: string, changes: UserChanges): Promise<UpdateUserOutcome>;
  /** Also revokes the tokens that were issued for the user, in the same transaction. False if there is no such user. */
  removeUser(userId: string): Promise<boolean>;

  recordTokens(tokens: readonly IssuedToken[]): Promise<void>;
  listTokens(userId: string): Promise<readonly ListedToken[]>;
  findToken(tokenId: string): Promise<IssuedToken | undefined>;
  /** With this id or name, or of the connection with this id: those that are not revoked, the newest last. */
  findTokens(idOrName: string): Promise<readonly IssuedToken[]>;
  /**
   * The new token has the name, the webhooks and the connection of the old ones. Those that only poll end when it polls; others work
   * until a person revokes them.
   */
  renewTokens(oldIds: readonly string[], token: IssuedToken): Promise<void>;
  /** False when the token was already revoked. */
  revokeToken(tokenId: string): Promise<boolean>;
  /** Counts for the log line at the start. */
  countAccounts(signal?: AbortSignal): Promise<AccountCounts>;
}
