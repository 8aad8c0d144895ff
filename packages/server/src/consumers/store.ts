/**
 * Consumers: the tokens that poll, and how far each has come. Leads are delivered in the order of their `createdAt`, so two
 * positions of a consumer and its gaps say for every lead whether the consumer has it; no row per lead is needed.
 */

import type { TokenKey } from '../accounts/token-key.ts';
import type { Attempt } from '../attempts/store.ts';
import type { PollingUser } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';
import { laterOf } from '../lib/clock.ts';

/** All leads after `after` and up to `through`. Null: from the first lead. */
export interface SentRange {
  readonly after: number | null;
  readonly through: number;
}

export interface Gap extends SentRange {
  /** The consumer's first position was after it: leads from before its start are no loss. */
  readonly isBeforeStart: boolean;
  readonly recordedAt: number;
}

/** The consumer that a `VerifiedToken` belongs to. */
export type ConsumerKey = TokenKey;

export const isSameConsumer = (a: ConsumerKey, b: ConsumerKey): boolean =>
  a.userId === b.userId && a.tokenId === b.tokenId;

/** From `after` up to the next one, the leads of this scope were sent, but for gaps. */
export interface ScopeFrom {
  /** Null: from the first lead. */
  readonly after: number | null;
  /** Null: it is not known. */
  readonly scope: LeadScope | null;
  /** Those of these scopes, too: they were sent before, and those of `scope` when the access of the user had changed. */
  readonly others?: readonly LeadScope[];
}

/** What is stored of a consumer. */
export interface ConsumerPosition extends ConsumerKey {
  /** Of the token of the last poll. Null: it does not expire. */
  readonly tokenExpiresAt: number | null;
  readonly firstPollAt: number;
  readonly lastPollAt: number;
  /** The HTTP status of the last poll. */
  readonly lastStatus: number;
  readonly polls: number;
  /** A poll waits for a lead (`Prefer: wait`) until this time at most. */
  readonly heldUntil: number | null;
  /** The usual time between two polls; null until there were two. */
  readonly intervalMs: number | null;
  /** The largest `since` that was sent, at most the time of its read: the consumer has all leads up to here. */
  readonly confirmedThrough: number | null;
  /**
   * When `confirmedThrough` last rose, or the last poll before leads after it were sent. Null: unknown, or the last page was asked
   * for without `since`.
   */
  readonly confirmedAt: number | null;
  /** The newest `createdAt` that was sent to it. */
  readonly deliveredThrough: number | null;
  /** The leads up to both positions that were never sent to it. */
  readonly gaps: readonly Gap[];
  /** What its pages could have, as `parseScopes` reads it. Null: it was not recorded. */
  readonly scopes: string | null;
  /** What it had in each hour, as `parseHours` reads it. Null: it was not recorded. */
  readonly hours: string | null;
}

/** The polls of one consumer since the last write, in one process. */
export interface PollSummary extends ConsumerKey {
  readonly tokenExpiresAt: number | null;
  readonly lastPollAt: number;
  /** The clock of the instance at the write. A stored time after it is of a clock that was set back since. */
  readonly writtenAt?: number;
  readonly lastStatus: number;
  /** All were refused with 401, perhaps without a valid signature: stored only if the token was issued here for this user. */
  readonly mustBeIssued?: boolean | undefined;
  /** 0 if a poll has begun to wait and none has ended. */
  readonly polls: number;
  readonly heldUntil: number | null;
  readonly confirmedThrough: number | null;
  readonly deliveredThrough: number | null;
  /** The leads that were sent: all that the user may see in these ranges. */
  readonly sent: readonly SentRange[];
  /** Of the last page that was read. Earlier ones of another scope are not in `sent`. */
  readonly scope?: LeadScope | undefined;
  /** For the log, in their order. Their `polls` are of this summary. */
  readonly attempts?: readonly PollAttempt[] | undefined;
  /** The first success without leads, if it came before all attempts. */
  readonly firstEmptyAt?: number | null | undefined;
  /** The pages that were sent: they may have leads that were moved, or of imported history. */
  readonly sentPages?: readonly SentPage[];
}

/** An attempt, with the leads of its first page: those that the consumer had before are not new. */
export interface PollAttempt extends Attempt {
  readonly createdAt?: readonly number[] | undefined;
}

export interface SentPage {
  readonly scope: LeadScope;
  /** Of its leads. */
  readonly createdAt: readonly number[];
}

/** Why a token is refused with 401. */
export type TokenEnd = 'revoked' | 'expired' | 'key-removed';

/** A time in which the service could not answer polls. */
export interface Downtime {
  readonly unavailableSince: number;
  readonly availableSince: number;
  /** Polls were answered, but not recorded: `recordPause`. */
  readonly isUnrecorded?: true;
}

/** A consumer whose user exists, and whose token works or was used within the last 24 hours. */
export interface Consumer extends ConsumerPosition {
  /** Of the token, if it was issued here. */
  readonly name: string | null;
  /** Null: the token was not issued here. An identity provider replaces its tokens by itself. */
  readonly tokenIssuedAt: number | null;
  readonly user: PollingUser;
  /** The number of leads that the consumer may see and that are later than both positions, at most `maxPendingLeads`. */
  readonly pendingLeads: number;
  /** The `createdAt` of the first of them. */
  readonly pendingSince: number | null;
  /** Up to its position: those of the newest leads that were not sent to it since they were moved to where the user may see them, or since its access was widened. Those of a widened access from before its first poll are in `gaps` instead: no loss. */
  readonly missedLeads: readonly number[];
  /** The number of leads in the gaps after its start and of `missedLeads`, at most `maxPendingLeads`. */
  readonly skippedLeads: number;
  /** The `createdAt` of the first of them. */
  readonly skippedSince: number | null;
  /** The `createdAt` of the first lead that was sent and not confirmed. Null: none, or the consumer has never sent `since`. */
  readonly unconfirmedSince: number | null;
  /** Null: its last poll was not refused with 401, or is older than 24 hours. */
  readonly tokenEnded: TokenEnd | null;
  /** The last one, if it was at least `MIN_DOWNTIME_MS`. The same for all consumers. */
  readonly downtime: Downtime | null;
}

/** One that does not exist any more: it was forgotten, its user was removed, or its webhook was deleted or its token revoked. */
export interface EndedConsumer extends ConsumerKey {
  readonly endedAt: number;
  /** As it was then. */
  readonly user: Omit<PollingUser, 'plan'>;
  /** Its position: later leads waited for it. */
  readonly through: number;
  readonly gaps: readonly Omit<Gap, 'recordedAt'>[];
  /** As in `Consumer`. */
  readonly scopes: string | null;
  readonly missedLeads: readonly number[];
}

/** The pending leads of a consumer, whether it has polled or not. */
export type Pending = Pick<Consumer, 'user' | 'pendingLeads' | 'pendingSince'>;

export interface ConsumerQuery {
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** The last consumer of the page before. */
  readonly after?: ConsumerKey | undefined;
  readonly limit: number;
  /** Counts no more pending and skipped leads than this for each consumer, so that the time of a query is bounded. */
  readonly maxPendingLeads: number;
  /** Tokens that were not issued here are left out when they have expired by this time, and another one of the user has polled since. */
  readonly now: number;
  /** Those alone that are otherwise left out because their token was revoked. Not for one company. */
  readonly areRevoked?: true;
}

export interface EndedQuery {
  readonly now: number;
  readonly userId?: string | undefined;
  /** The last one of the page before. */
  readonly after?: Pick<EndedConsumer, 'userId' | 'tokenId' | 'endedAt'> | undefined;
  readonly limit: number;
}

/** A consumer, or a webhook that sends leads, whose id is then in place of the token's. */
export interface MissedQuery extends ConsumerKey {
  /** As in `ConsumerPosition`. Null: what the user may see now. */
  readonly scopes: string | null;
  /** The leads after it are examined; null: all. */
  readonly after: number | null;
  /** Up to its position. */
  readonly through: number;
}

export interface ConsumerStore {
  /**
   * Merges the summaries into the stored positions with `mergePolls`, in their order: a consumer may have several. A token that
   * would be one more than `MAX_TOKENS_PER_USER` counts as a token without an id. Returns the key that each summary was
   * stored under. Writes no entry to the change log.
   */
  record(summaries: readonly PollSummary[]): Promise<readonly ConsumerKey[]>;
  /**
   * Sorted by user and token. Without removed users, expired tokens of an identity provider that another one has replaced, and
   * revoked tokens that were not refused within the last 24 hours.
   */
  list(query: ConsumerQuery): Promise<readonly Consumer[]>;
  /**
   * What consumers had received that have ended within the last 30 days, sorted by user, token and end. Those of revoked tokens are in `list`, but
   * for webhooks that send leads. At most the newest ones of each user.
   */
  listEnded(query: EndedQuery): Promise<readonly EndedConsumer[]>;
  /** The leads after `since` that a user may see, for a consumer that has never polled. Undefined if there is no such user. */
  findPending(
    query: Pick<ConsumerQuery, 'maxPendingLeads'> & { readonly userId: string; readonly since: number },
  ): Promise<Pending | undefined>;
  /**
   * For each query, the `createdAt` of the leads that were moved to where the consumer could see them, or that its user may see since a
   * change of the access level, and that the consumer has not got since: the newest first. The newest `limit` leads are examined, or 100.
   */
  findMissed(queries: readonly MissedQuery[], limit: number): Promise<readonly (readonly number[])[]>;
  /** Which consumers and webhooks got this lead, if it was moved, or is of history that was imported after their first poll. */
  findReceivers(companyId: string, createdAt: number): Promise<readonly ConsumerKey[]>;
  /** What consumers and webhooks of a user got of history that was imported after their first poll. The newest `limit` leads of it are examined. */
  findReceivedHistory(
    user: Pick<PollingUser, 'id' | 'companyId'>,
    limit: number,
  ): Promise<readonly (ConsumerKey & { readonly createdAt: number })[]>;
  /** Deletes what is known of a consumer, and keeps in `listEnded` what it had received. If it polls again, it is a new one. Returns false if nothing was known. */
  forget(key: ConsumerKey): Promise<boolean>;
  /**
   * Deletes what `list` leaves out, and consumers that have not polled since `before`. Those of revoked tokens are kept for
   * `REVOKED_KEPT_MS`: they say which leads have reached an automation. Returns their number.
   */
  prune(now: number, before: number): Promise<number>;
  /**
   * Records a downtime that ends now. Without its begin, the service has just started: it was unavailable since the last time that
   * is recorded, by a poll or by `recordStop`.
   */
  recordDowntime(now: number, unavailableSince?: number): Promise<void>;
  /** Those that had a whole hour of the last 25. */
  listDowntimes(): Promise<readonly Downtime[]>;
  /** An instance has stopped, and everything that it recorded is written. */
  recordStop(now: number): Promise<void>;
  /** Polls are not recorded from now on: what is sent until the next start is not known, and that it was not sent neither. */
  recordPause(): Promise<void>;
}

/** A revoked token that is still used is listed until so long after its last poll. */
export const ENDED_TOKEN_MS = 24 * 3_600_000;

/** After its last poll. The diagnosis counts the leads of so long. */
export const REVOKED_KEPT_MS = 30 * 24 * 3_600_000;

/** Polls are written every 5 seconds: while other instances go on, the start of one looks like a downtime of less than this. */
export const MIN_DOWNTIME_MS = 10_000;

/** How far a consumer has come: all later leads are pending. */
export const positionOf = (
  consumer: Pick<ConsumerPosition, 'confirmedThrough' | 'deliveredThrough'>,
): number | null => laterOf(consumer.confirmedThrough, consumer.deliveredThrough);
