/** The types of `/status.json`. Its names are public: add to them, change none. Times are ISO 8601 in UTC. */
import type { ProblemCode } from '@leadtap/contract';
import type { toConsumerJson } from '../leads/consumers.ts';
import type { ConsumerKey } from '../store/consumers.ts';
import type { HookCounts } from '../store/hooks.ts';

export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | 'database-unreachable'
    | 'consumers-stale'
    | 'consumers-unknown'
    | 'consumers-refused'
    | 'leads-silent'
    | 'tokens-expiring'
    | 'hooks-disabled'
    | 'hooks-failing'
    | 'requests-failed'
    | 'disk-low'
    | 'redis-unreachable'
    | 'stamps-ahead';
  /** `warning`: the service works. */
  readonly severity: 'error' | 'warning';
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
  /** Active ones whose last poll was answered with a 4xx other than 429. */
  readonly refused: number;
  /** Those with `tokenExpiresSoon`. */
  readonly expiring: number;
  /** At most 200: stale and those whose webhooks fail, refused and expiring, subscribed, active, inactive, each by name. */
  readonly listed: readonly ConsumerStatus[];
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
  readonly healthy: boolean;
  /** `good` and the messages of all problems. */
  readonly summary: string;
  /** What is well, such as that all consumers poll as usual. Null if there is an error, or a consumer is refused. */
  readonly good: string | null;
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
  readonly hooks: HookCounts | null;
  /** Of the last 24 hours, or since the start of this instance. */
  readonly refusals: readonly RefusalsOfCode<RefusedConsumer>[];
  /** The last 20, the newest first. */
  readonly errors: readonly RequestError[];
  readonly history: { readonly hour: StatusHistory; readonly day: StatusHistory };
}
