/** The types of `/status.json`. Its names are public: add to them, change none. Times are ISO 8601 in UTC. */
import type { ProblemCode } from '@leadtap/contract';
import type { toConsumerJson } from '../consumers/states.ts';
import type { ConsumerKey } from '../consumers/store.ts';
import type { HookCounts } from '../hooks/store.ts';

/** Of one consumer. It has at most one of these. */
export type ConsumerProblem =
  | 'token-revoked-in-use'
  | 'consumers-awaited'
  | 'consumers-stale'
  | 'consumers-limited'
  | 'leads-waiting'
  | 'consumers-refused';

export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | ConsumerProblem
    | 'database-unreachable'
    | 'consumers-unknown'
    | 'leads-skipped'
    | 'leads-silent'
    | 'tokens-expiring'
    | 'hooks-disabled'
    | 'hooks-failing'
    | 'requests-failed'
    | 'disk-low'
    | 'redis-unreachable'
    | 'stamps-ahead'
    | 'backup-old'
    | 'proxy-not-trusted';
  /** `warning`: every lead was picked up, as far as a consumer may have it. `unknown`: it cannot be said yet. */
  readonly severity: 'error' | 'warning' | 'unknown';
  readonly message: string;
  /** What to do. Commands are between backticks. */
  readonly fix: string;
  /** The page of the documents, with its section. */
  readonly docs: string;
}

/** One consumer: a token that polls or has a webhook subscription, or a user whose tokens have no id. */
export interface ConsumerStatus extends ReturnType<typeof toConsumerJson> {
  /** Its token was issued here, and expires within 7 days and the last third of its lifetime. Identity providers replace their tokens by themselves. */
  readonly tokenExpiresSoon: boolean;
  readonly problem: ConsumerProblem | null;
  /** It has skipped leads in the last 7 days. */
  readonly hasSkipped: boolean;
  /** Polls at this instance in each of the last 24 hours, the current hour last. Null: none, or not counted. */
  readonly pollsByHour: readonly number[] | null;
}

export interface ConsumersStatus {
  /** False: `LEADTAP_CONSUMERS=off`, so the counts are 0 and none is listed. */
  readonly recorded: boolean;
  /** They have a webhook subscription and have not polled yet. */
  readonly subscribed: number;
  readonly active: number;
  /** Those of them that have just begun to poll: their usual interval is not known yet. */
  readonly activeWithoutInterval: number;
  readonly stale: number;
  /** They have not polled for so long that they no longer count. */
  readonly inactive: number;
  /** Those with `problem`: `consumers-refused`, and so on. */
  readonly refused: number;
  readonly limited: number;
  /** Those of them for which leads have been waiting for more than 15 minutes. */
  readonly limitedLong: number;
  readonly waitingLong: number;
  readonly ended: number;
  readonly awaited: number;
  /** Those that have skipped leads. */
  readonly skipping: number;
  /** Those for which leads wait, also for a second, or while its user may not poll. Without inactive ones. */
  readonly behind: number;
  /** How long the lead that waits longest for a consumer has been waiting. */
  readonly longestWaitSeconds: number;
  /** The last time in which no poll could be answered. */
  readonly downtime: { readonly from: string; readonly until: string } | null;
  /** Those with `tokenExpiresSoon`. */
  readonly expiring: number;
  /** At most 200: those with a problem first, then those whose token expires soon, subscribed, active, inactive, each by name. */
  readonly listed: readonly ConsumerStatus[];
}

export interface HooksStatus extends HookCounts {
  /** Those that have been failing for 15 minutes or more. */
  readonly failingLong: number;
}

export interface UntrustedProxy {
  readonly address: string;
  readonly lastAt: string;
}

/** Equal steps of time, oldest first; the last step is not over yet. Null: before the start of this instance, or without polls. */
export interface StatusHistory {
  readonly from: string;
  readonly stepSeconds: number;
  readonly pollsPerSecond: readonly (number | null)[];
  readonly p99Ms: readonly (number | null)[];
  readonly rateLimited: readonly (number | null)[];
  readonly rejected: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  /** Leads created, by all instances and programs. Null if they could not be counted. */
  readonly leads: readonly number[] | null;
}

/** `lastHour`: in the last 55 to 60 minutes. */
export interface RefusalCounts {
  readonly lastHour: number;
  readonly last24Hours: number;
}

/** Requests to this instance that were answered with a problem. */
export interface RefusalsOfCode<Consumer> extends RefusalCounts {
  readonly code: ProblemCode;
  readonly status: number;
  /** At most 5, the most frequent first. */
  readonly consumers: readonly (Consumer & RefusalCounts)[];
  /** All others, also those without a valid token. */
  readonly others: RefusalCounts;
}

export interface RefusedConsumer extends ConsumerKey {
  /** Of the token, if it was issued here. */
  readonly name: string | null;
}

/** A request to this instance that was answered with a 5xx. */
export interface RequestError {
  readonly at: string;
  readonly status: number;
  readonly code: ProblemCode;
  /** Also in the log, in the lines of the request. */
  readonly requestId: string;
  readonly path: string;
}

export interface LeadsStatus {
  /** The newest `createdAt` of all companies; null if there is none. */
  readonly latestAt: string | null;
  /** The average of the same hours of the two weeks before. Null: a lead came in the last ten minutes, or it is not known. */
  readonly usualPerHour: number | null;
  /** No lead has come although, in the same hours of both weeks before, leads came in ten minutes or more. */
  readonly isSilent: boolean;
}

export interface StatusReport {
  readonly generatedAt: string;
  /** False: there is an error. Null: it cannot be said whether every lead was picked up. */
  readonly healthy: boolean | null;
  /** `good` or `note`, and the messages of all problems. */
  readonly summary: string;
  /** What is proven, such as "Every lead was picked up. All 6 consumers poll as usual." Null if it is not so, or not known. */
  readonly good: string | null;
  /** Why nothing can be said, such as "No consumer has polled yet." */
  readonly note: string | null;
  readonly problems: readonly StatusProblem[];
  readonly version: string;
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  readonly waitingRequests: number;
  readonly database: {
    readonly address: string;
    readonly reachable: boolean;
    /** Null while it is unreachable. */
    readonly engine: string | null;
    /** The newest `createdAt` of all companies; null if there is none. */
    readonly latestStamp: string | null;
    readonly stampsAheadSeconds: number | null;
    /** Of the whole database, with the write-ahead log of SQLite. Null if it could not be read. */
    readonly bytes: number | null;
  };
  /** Null if they could not be read. */
  readonly leads: LeadsStatus | null;
  /** Of `leadtap backup`; `lastAt` is null if none is known. Null with PostgreSQL. */
  readonly backup: { readonly lastAt: string | null } | null;
  /** Null without Redis. */
  readonly redis: { readonly reachable: boolean } | null;
  /** The disk of the SQLite file; null with PostgreSQL. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** Null if they could not be read. */
  readonly consumers: ConsumersStatus | null;
  /** The number of webhook subscriptions. Null: `LEADTAP_HOOKS=off`, or they could not be counted. */
  readonly hooks: HooksStatus | null;
  /** A proxy that is not trusted sent `X-Forwarded-Proto: https` in the last hour. */
  readonly untrustedProxy: UntrustedProxy | null;
  /** Of the last 24 hours, or since the start of this instance. */
  readonly refusals: readonly RefusalsOfCode<RefusedConsumer>[];
  /** The last 20, the newest first. */
  readonly errors: readonly RequestError[];
  readonly history: { readonly hour: StatusHistory; readonly day: StatusHistory };
}
