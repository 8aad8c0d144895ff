/** What imports and the commands for leads need of a database. */
import type { LeadInput, LeadRecord, LeadScope, StoredLead } from './record.ts';
import type { LeadRemoval } from './removal.ts';

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
  /** A constraint or a trigger of the operator prevented the write. Only a constraint has a name. */
  | {
      readonly field: 'id';
      readonly reason: 'not-stored';
      readonly value: string;
      readonly constraint?: string;
    }
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
  /** With a scope: the lead with this id is of another person. */
  | { readonly field: 'id'; readonly reason: 'other-person'; readonly value: string }
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

export interface ScopedWriteOptions extends WriteOptions {
  /** Leads that exist outside of it, would be placed outside of it, or change another person are rejected. Default: none is. */
  readonly scope?: LeadScope;
}

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

export interface LeadSearchQuery {
  readonly scope: LeadScope;
  /** Only leads created strictly before it. Absent: all leads. */
  readonly before?: number | undefined;
  /** Only leads with this text in a name, an e-mail address, a phone number or their id. Absent: all leads. */
  readonly text?: string | undefined;
  /** Only those with this `createdAt`, newest first, at most `limit`. */
  readonly stamps?: readonly number[] | undefined;
  readonly limit: number;
  /** Asked after each step of the search: once it is true, the search ends with what it has. */
  readonly isTimeUp?: (() => boolean) | undefined;
}

export interface LeadSearchResult {
  /** Newest first. */
  readonly leads: readonly StoredLead[];
  /** The `before` of the next search: there may be more leads. The search may end early, without a lead, to bound its cost. */
  readonly next: number | undefined;
}

/** Leads of a database, for the operator. */
export interface LeadStore {
  writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome>;
  /** Compares each lead with the stored ones, not with the others of the call. Writes nothing and takes no lock. */
  planLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<readonly PlannedLead[]>;
  /** A page of leads for the operator, whatever their places, sorted by `createdAt` and then by company. */
  listLeads(query: LeadListQuery): Promise<readonly StoredLead[]>;
  /** The leads with this id, of one company or of all, sorted by company. */
  findLeads(id: string, companyId?: string): Promise<readonly StoredLead[]>;
  /** The newest leads of a scope, or those with a text. The signal is aborted when the client disconnects. */
  searchLeads(search: LeadSearchQuery, signal?: AbortSignal): Promise<LeadSearchResult>;
  /** Erases persons and prunes old leads. */
  readonly removal: LeadRemoval;
}
