/** Senders: the tokens that send leads, when each last did, and what was refused of it. */
import type { ProblemCode } from '@leadtap/contract';
import type { TokenKey } from '../accounts/token-key.ts';
import type { TokenSummary } from '../accounts/token-rows.ts';
import type { HourCounts } from '../attempts/hours.ts';
import type { Attempt } from '../attempts/store.ts';

/** The requests of one day in UTC. `unkept`: the refused ones whose body is not kept. */
export type SenderDay = readonly [
  day: string,
  acceptedLeads: number,
  refusedRequests: number,
  unkept?: number,
];

/** The figures are those of so many days. */
export const SENDER_DAYS = 30;
/** Refused requests that are not kept count for a week: by then a person has decided. */
export const UNKEPT_MS = 7 * 86_400_000;
/** Of a token that was issued for a user who does not exist, and had sent nothing before. */
export const UNKNOWN_COMPANY = '';

/** A request that was refused, so that its leads were not stored. */
export interface SenderRefusal {
  readonly at: number;
  readonly status: number;
  readonly code: ProblemCode;
  /** The names of the fields with an error, never their values. */
  readonly fields: readonly string[];
}

interface SenderTimes {
  /** Of the token of the last request. Null: it does not expire. */
  readonly tokenExpiresAt: number | null;
  readonly lastRequestAt: number;
  /** The last request whose leads were stored, or had been stored before. */
  readonly lastAcceptedAt: number | null;
  readonly lastRefusal: SenderRefusal | null;
  /** When the last refused request was not kept, or was deleted after 30 days or for lack of room. */
  readonly lastUnkeptAt: number | null;
}

/** What is stored of a sender. */
export interface Sender extends TokenKey, SenderTimes {
  /** `UNKNOWN_COMPANY` if it is not known. */
  readonly companyId: string;
  /** The service whose webhooks the token sends. Null: the bodies have the fields of a lead. */
  readonly source: string | null;
  readonly firstRequestAt: number;
  /** The last 30 days at most, in their order; days without a request are left out. */
  readonly days: readonly SenderDay[];
  /** What it sent in each hour, as `parseHours` reads it. Null: it was not recorded. */
  readonly hours: string | null;
}

/** The requests of one sender since the last write, in one process. */
export interface SenderSummary extends TokenSummary, Omit<SenderTimes, 'tokenExpiresAt'> {
  /** Undefined: it is not known, because the token has expired. */
  readonly source: string | null | undefined;
  /** Undefined: it is not known, because the request was deleted long after it. */
  readonly tokenExpiresAt: number | null | undefined;
  /** The clock of the instance at the write. A stored time after it is of a clock that was set back since. */
  readonly writtenAt: number;
  readonly days: readonly SenderDay[];
  readonly hours?: readonly HourCounts[] | undefined;
  /** For the log, in their order. */
  readonly attempts?: readonly Attempt[] | undefined;
}

/** A sender whose user exists, or one with recent requests that were refused and not kept. */
export interface ListedSender extends Sender {
  /** Of the token, if it was issued here. */
  readonly name: string | null;
  /** Null: the token was not issued here. An identity provider replaces its tokens by itself. */
  readonly tokenIssuedAt: number | null;
  readonly isRevoked: boolean;
  /** Leads of another token of the same user and source were accepted after its last request. */
  readonly isReplaced: boolean;
}

export interface SenderQuery {
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** The last sender of the page before. */
  readonly after?: TokenKey | undefined;
  readonly limit: number;
  /** Revoked tokens that have not sent within the 30 days before are left out. */
  readonly now: number;
}

export interface SenderStore {
  /**
   * Merges the summaries into the stored senders, in their order: a sender may have several. Of a user who does not exist, only
   * tokens that were issued here are stored, in the company that the user had. A token that would be one more than `MAX_TOKENS_PER_USER` counts as a token without an id. Writes no entry to the change log.
   */
  record(summaries: readonly SenderSummary[]): Promise<void>;
  /** Sorted by user and token. */
  list(query: SenderQuery): Promise<readonly ListedSender[]>;
  /** Forgets the refused requests of these senders that are not kept. */
  clearUnkept(senders: readonly TokenKey[]): Promise<void>;
  /** Deletes what `list` leaves out, and senders that have not sent since `before`. Returns their number. */
  prune(now: number, before: number): Promise<number>;
}
