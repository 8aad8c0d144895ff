/** What leads over HTTP need of a database. */
import type { LeadError, ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { TokenKey } from '../accounts/token-key.ts';
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

/** Who sent a request. */
export interface SenderKey extends TokenKey {
  readonly companyId: string;
}

/** A request that was refused, without its body. */
export interface RefusedLead extends SenderKey {
  readonly id: string;
  /** The program of an identity provider that sent it. */
  readonly client: string | null;
  /** The form service whose webhooks the token sends. */
  readonly source: string | null;
  /** Of the token: the fields of its answers, and the time zone of times without an offset. */
  readonly answerMap: Readonly<Record<string, string>> | null;
  readonly timeZone: string | null;
  readonly receivedAt: number;
  /** When it was last sent, and how often. */
  readonly lastAt: number;
  readonly times: number;
  readonly code: ProblemCode;
  /** Without values of the body. */
  readonly errors: readonly LeadError[];
  /** The header `Content-Type`. */
  readonly mediaType: string;
}

export interface RefusedLeadWithBody extends RefusedLead {
  readonly body: Buffer;
  /** SHA-256. */
  readonly bodyHash: string;
}

export interface StoredRefusedLead extends RefusedLead {
  /** The size of its body. */
  readonly bytes: number;
  /** The name of the connection that sent it, or of its token. */
  readonly connection: string | null;
  readonly connectionId: string | null;
}

/** A request whose leads were written: what was refused of it before is not needed any more. */
export interface AcceptedRequest {
  readonly bodyHash: string;
  readonly companyId: string;
  /** Other users may have the same body stored at another place. */
  readonly userId: string;
  /** Of the token: the form service decides how a body is read. */
  readonly source: string | null;
  /** What was refused later stays. */
  readonly at: number;
}

/** Requests that were refused, and are held for the operator. */
export interface RefusedLeadStore {
  /**
   * Holds these requests in one transaction, and returns the ids of those that are held: not those of users who do not exist, nor
   * those for which the company or the connection has no room. The same body with the same token counts up, and needs no room.
   */
  record(refused: readonly RefusedLeadWithBody[]): Promise<ReadonlySet<string>>;
  /** Deletes the rows of requests that were accepted: with the same body and source of the same user. */
  removeAccepted(accepted: readonly AcceptedRequest[]): Promise<number>;
  /**
   * Deletes the rows that were last sent 30 days ago, which count as lost for their connection, and those of users who do not exist.
   * Returns their number.
   */
  prune(now: number): Promise<number>;
  /** The oldest first. */
  list(query: {
    readonly companyId?: string | undefined;
    /** The id of the last one of the page before. */
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly StoredRefusedLead[]>;
  find(id: string): Promise<(StoredRefusedLead & RefusedLeadWithBody) | undefined>;
  remove(ids: readonly string[]): Promise<number>;
}

/** Of a company. A connection has at most half of each. */
export const MAX_REFUSED_LEADS = 1000;
export const MAX_REFUSED_BYTES = 16 * 1024 * 1024;
/** Since they were last sent. */
export const REFUSED_DAYS = 30;
