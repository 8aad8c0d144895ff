/**
 * Connections: the ways in and out, and what became of each lead. Facts are rows: a lead that was sent is a row of `deliveries`, one
 * that was missed a row of `missed`. A connection is (user, kind, name); tokens, webhooks that send leads and clients of the identity
 * provider are its keys.
 */
import type { ConnectionState, LogKind, ProblemCode } from '@leadtap/contract';
import type { PollingUser } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';

/** `send`: a way in. `poll` and `webhook`: ways out. */
export type ConnectionKind = 'send' | 'poll' | 'webhook';

/** What a request is sent with. */
export interface ConnectionKey {
  readonly userId: string;
  readonly kind: ConnectionKind;
  /** Of the token; of a webhook, the id of its connection. Null: all tokens of the user that have no id. */
  readonly keyId: string | null;
  /** `azp` or `client_id` of a token of the identity provider. */
  readonly client?: string | undefined;
}

/** How a poll asks: without `since`, with the exact stamp of a lead or what the last `Link` gave, or with another time. */
export type PollStyle = 'none' | 'stamp' | 'time';

/** How a connection asks. It is JSON in its row: no statement needs a part of it. */
export interface Habit {
  /** Of the last ten polls. */
  readonly styles: readonly PollStyle[];
  /** Between the last thirty polls that count. */
  readonly pausesMs: readonly number[];
  /** Polls without `since` that count: when, and the newest lead that it had then. The last 60. */
  readonly had: readonly (readonly [at: number, through: number])[];
  /** Full pages in a row for the same `since`, all of whose leads it had been sent: when, and the `since`. */
  readonly repeated: readonly (readonly [at: number, since: number])[];
  /** What the last `Link` gave, and whether its page had leads. */
  readonly link: number | null;
  readonly linkHasLeads: boolean;
  /** How often it asked for what the `Link` of a page with leads gave. */
  readonly followed: number;
  /** Polls in all. */
  readonly polls: number;
  /** The last poll without `since` that counted. */
  readonly withoutSinceAt: number | null;
  /** Pages without `since` that count hold nothing older. Null: there was none yet. */
  readonly floor: number | null;
  /** Where the last page without `since` began, if it was full, and when it was sent. */
  readonly pageFrom: readonly [from: number, at: number] | null;
  /** The `accessChangedThrough` that `floor` knows. */
  readonly floorOfAccess: number | null;
  /** When its position last changed. */
  readonly positionAt: number | null;
  /** The largest `since` of the style `time` that the audit has not reached. */
  readonly jumpedTo: number | null;
  /** The newest entry of its log: equal ones in a row are one. */
  readonly entry: readonly [firstAt: number, equal: string] | null;
}

export const NO_HABIT: Habit = {
  ...{ styles: [], pausesMs: [], had: [], repeated: [] },
  ...{ link: null, linkHasLeads: false, followed: 0, polls: 0 },
  ...{
    withoutSinceAt: null,
    floor: null,
    pageFrom: null,
    floorOfAccess: null,
    positionAt: null,
    jumpedTo: null,
    entry: null,
  },
};

/** `future`: its `since` is later than the clock and the last stamp. `gone`: leads that it had are gone from this database. */
export type Ahead = 'future' | 'gone';

/** A row of `connections`. Times are milliseconds; stamps are a `createdAt`. */
export interface Connection {
  readonly id: string;
  readonly companyId: string;
  readonly userId: string;
  readonly kind: ConnectionKind;
  readonly name: string;
  readonly source: 'token' | 'form' | 'provider';
  /** Its first request. It is kept when the connection starts again. */
  readonly firstAt: number;
  readonly lastAt: number | null;
  /** Of the newest of its tokens that was used. */
  readonly tokenExpiresAt: number | null;
  /** In: when it last added a lead. */
  readonly lastLeadAt: number | null;
  /** Leads up to this stamp came before it. Null: it has not started. */
  readonly startStamp: number | null;
  readonly startedAt: number | null;
  /** A stamp: what it asked for last, or the newest lead that it got. */
  readonly position: number | null;
  /** A stamp: leads up to here are sent, missed or none. */
  readonly auditedThrough: number | null;
  /** The position that the last audit saw. */
  readonly notedPosition: number | null;
  /** When it first did what it is for. Null: it is new. */
  readonly workedAt: number | null;
  readonly endedAt: number | null;
  /** `revoked`, `removed`, `410`, `deleted`, `user-removed`, `handled`. */
  readonly endedBy: string | null;
  /** Leads after this stamp were never meant for it. */
  readonly endStamp: number | null;
  readonly pausedAt: number | null;
  readonly pausedBy: string | null;
  /** Requests in a row that were refused or failed. */
  readonly errors: number;
  readonly failingSince: number | null;
  readonly lastErrorAt: number | null;
  readonly lastErrorCode: string | null;
  readonly ahead: Ahead | null;
  readonly aheadSince: number | null;
  /** Leads that were deleted by age while they waited for it. */
  readonly pruned: number;
  /** The last thin event that was accepted, and the first one since which it has not polled. */
  readonly eventAt: number | null;
  readonly eventOpenSince: number | null;
  /** A stamp: leads up to here are visible to it only if they were so before its access was changed, too. */
  readonly accessChangedThrough: number | null;
  readonly habit: Habit;
}

/** Equal polls in a row of one connection. */
export interface PollRun {
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
  readonly since: number | null;
  readonly limit: number;
  /** Null: the poll was refused or failed. */
  readonly page: PolledPage | null;
  readonly status: number;
  readonly code: ProblemCode | 'client-closed-request' | null;
  readonly durationMs: number | null;
}

export interface PolledPage {
  /** Of its leads, in any order: the same array if the same page was sent again. */
  readonly createdAt: readonly number[];
  readonly oldest: number | null;
  readonly newest: number | null;
  readonly isFull: boolean;
  /** What its `Link` gives: its newest lead, or where the company was. */
  readonly link: number;
  /** All of it was written to the socket. */
  readonly isSent: boolean;
}

/** Requests that send leads. */
export interface SendRun {
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
  readonly status: number;
  readonly code: ProblemCode | 'client-closed-request' | 'intake-off' | null;
  readonly added: number;
  readonly updated: number;
  /** It was refused, and its body is held. Else a refused request is lost. */
  readonly isHeld: boolean;
  /** The names of the fields with an error. */
  readonly fields: readonly string[];
  readonly durationMs: number | null;
  /** A person accepted a held request: nothing was heard of the connection. */
  readonly isAccepted?: boolean;
}

/** Requests to a webhook. */
export interface PushRun {
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
  /** The leads that were accepted. */
  readonly createdAt: readonly number[];
  readonly status: number | null;
  /** Null: it was accepted. */
  readonly failure: 'refused' | 'gone' | 'timeout' | 'unreachable' | 'not-allowed' | null;
  readonly reason: string | null;
  readonly nextTryAt: number | null;
  readonly isEvent: boolean;
  /** The leads were sent beside the new ones: moved to it, or sent again. */
  readonly isBeside: boolean;
  readonly durationMs: number | null;
}

/** A lead that is sent to a webhook beside the new ones: moved to it, or sent again. */
export interface PendingLead {
  readonly createdAt: number;
  /** So that a repeated request is another one for its receiver. */
  readonly message: string;
}

/** What happened on one connection since the last write, in one process. */
export interface ConnectionBatch extends ConnectionKey {
  readonly source: Connection['source'];
  /** Undefined: as it is stored. */
  readonly tokenExpiresAt: number | null | undefined;
  /** The signature was valid, but the token was refused with 401: it is stored only if the connection exists. */
  readonly isKnownOnly: boolean;
  readonly polls: readonly PollRun[];
  readonly sends: readonly SendRun[];
  readonly pushes: readonly PushRun[];
}

export interface ConnectionListQuery {
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** This one alone. */
  readonly id?: string | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly now: number;
  /** Figures are of the leads since then. */
  readonly since: number;
  /** `['']`: all keys. */
  readonly acceptedKeys: readonly string[];
}

/** What became of a lead for one connection. */
export interface LeadOutcome {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly state: 'sent' | 'waiting' | 'missed' | 'none';
  readonly sentAt: number | null;
  readonly why: MissedReason | null;
  readonly missedAt: number | null;
  readonly handledAt: number | null;
  readonly createdAt: number;
  /** Later than `createdAt` if it is imported history. */
  readonly addedAt: number;
  readonly startStamp: number | null;
  readonly endedAt: number | null;
  readonly isVisible: boolean;
}

export interface StoredLogEntry {
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
  readonly kind: LogKind;
  readonly leads: number;
  readonly reason: string | null;
  /** JSON of `LogDetails`. */
  readonly details: string;
  /** Of the leads that were sent, if the reader may see them now. */
  readonly leadIds: readonly string[];
}

export interface TimeSpan {
  readonly from: number;
  readonly until: number;
}

export interface UnassignedLeads {
  readonly companyId: string;
  readonly leads: number;
  readonly since: number;
}

/** Connections in a database. Each method is one transaction, but for `audit` and `prune`, which are several. */
export interface ConnectionStore {
  /** Returns the connections of these batches, in their order, as they are now. Undefined: it is not stored. */
  record(batches: readonly ConnectionBatch[]): Promise<readonly (Connection | undefined)[]>;
  findByKey(key: ConnectionKey): Promise<Connection | undefined>;
  find(id: string): Promise<Connection | undefined>;
  /** Sorted by id. */
  list(query: ConnectionListQuery): Promise<readonly ConnectionFacts[]>;
  /** Undefined: there is no such lead, or it is not in the scope. */
  findLead(companyId: string, leadId: string, scope: LeadScope): Promise<readonly LeadOutcome[] | undefined>;
  /** Newest first. `scope`: what the reader may see. */
  readLog(
    id: string,
    query: { readonly before: number | undefined; readonly limit: number; readonly scope: LeadScope },
  ): Promise<readonly StoredLogEntry[]>;
  /** The `createdAt` of the leads that it missed, and of at most 1,000 that wait for it, newest first. Handled ones are not owed. */
  listOwed(id: string, before: number | undefined, limit: number): Promise<readonly number[]>;
  /** The same of a company's leads that no automation gets. */
  listUnassignedLeads(
    companyId: string,
    before: number | undefined,
    limit: number,
  ): Promise<readonly number[]>;
  listUnassigned(companyId?: string): Promise<readonly UnassignedLeads[]>;
  /** Leads since then that are no imported history: at most `limit`, and the first of them. Without a scope: of all companies. */
  countLeads(
    scope: LeadScope | undefined,
    since: number,
    limit: number,
  ): Promise<{ readonly leads: number; readonly firstAt: number | null }>;

  /** `endsWaiting` decides by the facts, which nothing changes meanwhile, whether what waits is taken, too. False: it is unknown. */
  markHandled(
    list: ConnectionListQuery & { readonly id: string },
    endsWaiting: (facts: ConnectionFacts) => boolean,
    by: string,
  ): Promise<boolean>;
  handleUnassigned(companyId: string): Promise<void>;
  handleDoor(): Promise<void>;
  rename(id: string, name: string, by: string): Promise<'renamed' | 'unknown' | 'name-in-use'>;
  /** False: it is no webhook. */
  setPaused(id: string, paused: boolean, by: string): Promise<boolean>;
  end(id: string, endedBy: string): Promise<boolean>;
  /** Revokes its tokens and deletes its webhooks, and ends it. */
  endKeys(id: string, by: string): Promise<{ readonly tokens: number; readonly hooks: number }>;
  /** The number of leads that wait then. Undefined: it is no webhook. */
  sendAgain(id: string, leads: readonly string[] | 'missed', by: string): Promise<number | undefined>;

  /** Compares the leads of all companies with what was sent, in small transactions. Instances take turns. */
  audit(signal?: AbortSignal): Promise<void>;
  /** Deletes what is too old: deliveries after 90 days, hours after 31. */
  prune(): Promise<void>;
  /** This process serves, or has stopped. `dropped`: what it had recorded could not be written. */
  noteInstance(id: string, event: 'started' | 'seen' | 'stopped' | 'dropped'): Promise<void>;
  /** When no instance served. */
  listDeadTimes(since: number): Promise<readonly TimeSpan[]>;
}

/** Why a lead was missed. `passed` is red, the others are amber. */
export type MissedReason = 'passed' | 'moved' | 'narrowed' | 'not-recorded';

/** What is said of a connection is derived from these facts alone. */
export interface ConnectionFacts {
  readonly connection: Connection;
  /** Undefined: the user was removed. */
  readonly user: PollingUser | undefined;
  /** Of its company. */
  readonly lastStamp: number;
  readonly isKeyAccepted: boolean;
  readonly hasKeys: boolean;
  /** When its last token expires. Null: it has none that was issued here. */
  readonly keysUntil: number | null;
  /** Of a token that was renewed and works until a person ends it. */
  readonly oldKeyUsedAt: number | null;
  /** Webhooks: where leads are sent, and the setting that stops it. */
  readonly host: string | null;
  readonly origin: string | null;
  readonly stoppedBy: 'LEADTAP_HOOKS' | 'LEADTAP_HOOK_HOSTS' | null;
  readonly nextTryAt: number | null;
  /** In the counted time. Out: sent. In: added. */
  readonly leads: number;
  readonly updated: number;
  readonly waiting: number;
  readonly waitingSince: number | null;
  readonly missed: Readonly<Record<MissedReason, number>>;
  /** Those of `missed` and `waiting` that are older than the counted time. */
  readonly olderOwed: number;
  readonly held: number;
  /** Why they were refused, the most frequent first. */
  readonly heldWhy: readonly HeldCount[];
  readonly lost: readonly LostCount[];
  /** In: the longest pause of the 30 days before its last lead. Null: it has added fewer than ten leads. */
  readonly longestPauseMs: number | null;
  readonly hours: readonly HourCount[];
}

export interface HeldCount {
  readonly why: ProblemCode;
  /** The names of the fields with an error. */
  readonly fields: readonly string[];
}

export interface LostCount {
  readonly why: ProblemCode | 'client-closed-request' | 'held-too-long' | 'intake-off';
  readonly requests: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface HourCount {
  readonly hour: number;
  readonly leads: number;
  readonly failed: number;
}

/** The state and since when. */
export interface StateOfConnection {
  readonly state: ConnectionState;
  readonly since: number | null;
}
