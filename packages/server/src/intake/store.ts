/** What leads over HTTP need of a database. */
import type { VerifiedToken } from '../accounts/records.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { PlacementProblem, ScopedWriteOptions, WrittenLead } from '../leads/store.ts';
import type { PollStore } from '../poll/store.ts';

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

/** The key of a request that sends leads, and its content, as hashes. */
export interface IdempotentRequest {
  readonly keyHash: string;
  readonly bodyHash: string;
  /** The ids that are derived from the key. */
  readonly derivedIds: ReadonlySet<string>;
}

/** What the intake needs of a database. */
export interface IntakeStore extends PollStore {
  /**
   * Writes these leads in one transaction, or none of them if one is rejected. A lead that exists outside of the scope, or
   * would be placed outside of it, is rejected. The account of the sender, if given, is checked in the same transaction: a change
   * of it is committed either after these leads, or before, and then none is written.
   */
  writeAllLeads(
    leads: readonly LeadInput[],
    scope: LeadScope,
    sender?: VerifiedToken,
    /** Stored in the same transaction. If its key is known, nothing is written. */
    request?: IdempotentRequest,
  ): Promise<WriteAllOutcome>;
  /**
   * Finds all placement problems of each lead and writes nothing. `writeLeads` returns only the first problem of a lead.
   */
  findPlacementProblems(
    leads: readonly LeadInput[],
    options?: ScopedWriteOptions,
  ): Promise<readonly (readonly PlacementProblem[])[]>;
}
