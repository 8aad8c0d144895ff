/** The types of `/status.json`. Its names are public: add to them, change none. Times are ISO 8601 in UTC. */

export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | 'database-unreachable'
    | 'consumers-stale'
    | 'consumers-unknown'
    | 'requests-failed'
    | 'disk-low'
    | 'redis-unreachable'
    | 'stamps-ahead';
  readonly message: string;
}

/** One consumer: a token that polls, or a user whose tokens have no id. The names are those of `leadtap consumers --json`. */
export interface ConsumerStatus {
  readonly tokenId: string | null;
  readonly name: string | null;
  readonly userId: string;
  readonly companyId: string;
  readonly state: 'active' | 'stale' | 'inactive';
  readonly lastPollAt: string;
  /** The HTTP status of the last poll. */
  readonly lastStatus: number;
  /** Null until there were two polls. */
  readonly usualIntervalSeconds: number | null;
  readonly confirmedThrough: string | null;
  readonly deliveredThrough: string | null;
  /** Leads that it may see and was not sent yet, at most 1,000. */
  readonly waiting: number;
  readonly waitingSince: string | null;
  /** Polls at this instance in each of the last 24 hours, the current hour last. Null: none, or not counted. */
  readonly pollsByHour: readonly number[] | null;
}

export interface ConsumersStatus {
  /** False: `LEADTAP_CONSUMERS=off`, so the counts are 0 and none is listed. */
  readonly recorded: boolean;
  readonly active: number;
  /** Those of them that have just begun to poll: their usual interval is not known yet. */
  readonly activeWithoutInterval: number;
  readonly stale: number;
  /** They have not polled for so long that they no longer count. */
  readonly inactive: number;
  /** At most 200: stale, active, inactive, each by name. */
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
  /** Null if they could not be read. */
  readonly consumers: ConsumersStatus | null;
  readonly history: { readonly hour: StatusHistory; readonly day: StatusHistory };
}
