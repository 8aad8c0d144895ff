/** What a poll needs of a database, and of the recorder of connections. */

import type { ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { Account } from '../accounts/store.ts';
import type { LeadRecord, LeadScope } from '../leads/record.ts';
import type { PageLead, RenderedLeads } from '../leads/render.ts';

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

/** The combined request of all polls that wait for the same revalidation. */
export interface RevalidationRequest {
  readonly companies: readonly string[];
  /** The companies of these users are revalidated as well. */
  readonly tokens: readonly VerifiedToken[];
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
  /** One for each token, in the same order. */
  readonly accounts: readonly Account[];
  /** The position in the change log. Pass it as `known` to the next revalidation. */
  readonly seen: string;
  /** All changes committed since the revalidation that returned `known`. Undefined: discard all cached data. */
  readonly changes: readonly Change[] | undefined;
}

/** The change log, with which a process can cache what it reads and never answers with stale data. */
export interface ChangeTrackingStore {
  /** Never waits for a lock. One call serves any number of polls and is made after the last of them has arrived. */
  revalidate(request: RevalidationRequest, known: string | undefined): Promise<Revalidation>;
  /**
   * Reads what is committed now, without a lock. The revalidation before it gives the time of the answer. A store may render the
   * leads itself, exactly as `renderLead` does.
   */
  readLeads(query: PageQuery, signal?: AbortSignal): Promise<readonly PageLead[]>;
  /** The `createdAt` of imported history of these times that was added after `addedAfter`. */
  findHistory(
    companyId: string,
    times: { readonly from: number; readonly through: number; readonly addedAfter: number },
  ): Promise<readonly number[]>;
}

/** Which leads a page without `since` may have. */
export interface NewestPageRule {
  /** If the newest page begins later, the leads that follow this one instead. */
  readonly after: number | null;
  /** None that is older. */
  readonly floor: number | null;
  /** No history that was imported after it. */
  readonly historyUntil: number;
}

/** What polls need of a database. */
export interface PollStore {
  readonly changeTracking: ChangeTrackingStore;
  /**
   * Waits for the lock of the company, then reads the page. The signal is aborted when the client disconnects. The store may
   * then reject with `ClientDisconnectedError`.
   */
  readPage(query: PageQuery, signal?: AbortSignal): Promise<Page>;
}

/** Undefined: anything may have changed. */
export type ChangeListener = (changes: readonly Change[] | undefined) => void;

/** The change log as long polls and webhook events read it. */
export interface ChangeSource {
  /** Reads the changes since the last call, by whatever poll, and reports them to the listeners before it resolves. */
  readChanges(): Promise<void>;
  onChanges(listener: ChangeListener): void;
}

/** For the log of a connection. */
export interface PollFacts {
  readonly code?: ProblemCode | undefined;
  /** Without the time that the poll was held. */
  readonly durationMs?: number;
}

/** A poll that has ended. */
export interface EndedPoll extends PollFacts {
  readonly at: number;
  readonly status: number;
  /** The page that answered it; absent if a check failed or the page could not be read. */
  readonly page?: PollPage;
}

export interface PollPage {
  readonly scope: LeadScope;
  readonly since: number | undefined;
  readonly readAt: number;
  readonly leads: Pick<RenderedLeads, 'count' | 'first' | 'last' | 'createdAt'>;
  readonly limit: number;
  /** Of an empty page without `since`. */
  readonly lastStamp?: number | undefined;
  /** It has as many leads as it may: there may be further ones. */
  readonly isFull: boolean;
  /** The client got the whole body. */
  readonly isSent: boolean;
  /** The client disconnected before it got the whole body. A HEAD and a 304 have none. */
  readonly isInterrupted: boolean;
}

/** Receives the polls of the endpoint. */
export interface PollRecorder {
  recordPoll(token: VerifiedToken, poll: EndedPoll): void;
  /** The poll waits for a lead. It has asked for what comes after `since`, also if its client disconnects. */
  recordWait(token: VerifiedToken, at: number, since: number | undefined): void;
  /** A poll was refused with 401. The signature of the token may be invalid: it counts only if the token was issued here. */
  recordRefusedToken(token: VerifiedToken, at: number, facts?: PollFacts): void;
  /** For a poll without `since`. Undefined: the newest page as it is. */
  newestPageRule?(token: VerifiedToken): Promise<NewestPageRule | undefined>;
}
