/** The types of `/status.json`. Its names are public: add to them, change none. Times are ISO 8601 in UTC. */

export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | 'database-unreachable'
    | 'consumers-stale'
    | 'requests-failed'
    | 'disk-low'
    | 'redis-unreachable'
    | 'stamps-ahead';
  readonly message: string;
}

/** One consumer: a token that polls, or a user whose tokens have no id. */
export interface ConsumerStatus {
  readonly tokenId: string | null;
  readonly name: string | null;
  readonly userId: string;
  readonly lastPollAt: string;
  /** The HTTP status of the last poll. */
  readonly lastStatus: number;
  /** The usual time between two polls; null until it is known. */
  readonly usualIntervalSeconds: number | null;
  readonly stale: boolean;
  readonly confirmedThrough: string | null;
  readonly deliveredThrough: string | null;
  /** Leads that it may see and was not sent yet. */
  readonly waitingLeads: number;
  /** Polls at this instance in each of the last 24 hours, the current hour last. */
  readonly pollsByHour: readonly number[];
}

export interface ConsumersStatus {
  /** False: `LEADTAP_CONSUMERS=off`, so there are no others below. */
  readonly recorded: boolean;
  readonly total: number;
  readonly stale: number;
  /** At most 200: the stale ones first, then by name. */
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

export interface StatusReport {
  readonly generatedAt: string;
  readonly healthy: boolean;
  readonly summary: string;
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
  };
  /** Null without Redis. */
  readonly redis: { readonly reachable: boolean } | null;
  /** The disk of the SQLite file; null with PostgreSQL. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** Null while the database is unreachable. */
  readonly consumers: ConsumersStatus | null;
  readonly history: { readonly hour: StatusHistory; readonly day: StatusHistory };
}
