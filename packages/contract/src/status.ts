/**
 * `/status.json` of the private address, which the operator's page shows and outside programs rely on. Times are ISO 8601 in UTC. Commands
 * in a fix are between backticks.
 */
import type { Connections } from './connection-schemas.ts';
import type { ProblemCode } from './problems.ts';
import type { Consumer, HourCounts } from './schemas.ts';

/** Problems of single consumers. */
export const CONSUMER_PROBLEMS = [
  'leads-skipped',
  'token-revoked-in-use',
  'consumers-awaited',
  'consumers-stale',
  'consumers-limited',
  'leads-waiting',
  'consumers-refused',
  'tokens-expiring',
  'hooks-disabled',
  'hooks-failing',
] as const;

export type ConsumerProblem = (typeof CONSUMER_PROBLEMS)[number];

/** Problems of single senders, the most urgent first. */
export const SENDER_PROBLEMS = [
  'leads-refused',
  'intake-off',
  'senders-expired',
  'senders-expiring',
] as const;

export type SenderProblem = (typeof SENDER_PROBLEMS)[number];

export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | ConsumerProblem
    | SenderProblem
    | 'database-unreachable'
    | 'no-company'
    | 'consumers-unknown'
    | 'leads-silent'
    | 'leads-unseen'
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
  /** Where the service explains it, below its base address: `/docs#kind`, or `/docs#problem-code`. */
  readonly docs: string;
}

/** What is said of a consumer or a sender, beside its name. */
export interface StatusRow {
  readonly level: Consumer['level'];
  readonly message: string;
  /** Null: nothing is to be done. */
  readonly fix: string | null;
}

export interface ConsumerCounts {
  /** False: `LEADTAP_CONSUMERS=off`, so the counts are 0 and none is listed. */
  readonly recorded: boolean;
  /** They have a webhook subscription, and have not polled or accepted a lead yet. */
  readonly subscribed: number;
  readonly active: number;
  /** Those of them that have just begun to poll: their usual interval is not known yet. */
  readonly activeWithoutInterval: number;
  /** Those of them that are webhook subscriptions that send leads. */
  readonly activeByWebhook: number;
  /** Those of `activeByWebhook` that are not sent anything, because this service may not send to their host. */
  readonly notAllowed: number;
  readonly stale: number;
  /** They have not polled for so long that they no longer count, and no lead waits for them, or they were only tried. */
  readonly inactive: number;
  /** In the last 30 days: forgotten, deleted, of a removed user, or with a revoked token. They are not listed. */
  readonly removed: number;
  /** The number of consumers with each problem. */
  readonly problems: Readonly<Record<ConsumerProblem, number>>;
  /** Those with pending leads, also for a second, or while its user may not poll. Without inactive ones. */
  readonly behind: number;
  /** How long the lead that is pending longest for a consumer has been so. */
  readonly longestWaitSeconds: number;
  /** The last time in which no poll could be answered. */
  readonly downtime: { readonly from: string; readonly until: string } | null;
  /** Null: it is not known yet, or could not be read. */
  readonly coverage: LeadCoverage | null;
}

/** A consumer in `/status.json`. What has the name of a field in `Consumer` means the same. */
export interface StatusConsumer
  extends StatusRow,
    Pick<
      Consumer,
      | 'id'
      | 'name'
      | 'tokenId'
      | 'state'
      | 'firstPollAt'
      | 'lastPollAt'
      | 'lastStatus'
      | 'confirmedThrough'
      | 'deliveredThrough'
      | 'skippedSince'
      | 'tokenEnded'
      | 'isAwaited'
    > {
  readonly userId: string;
  readonly companyId: string;
  /** The most urgent one of `problems`. */
  readonly problem: string | null;
  readonly problems: readonly ConsumerProblem[];
  readonly tokenExpiresAt: string | null;
  readonly usualIntervalSeconds: number | null;
  /** Counted up to 1,000, as `skipped`. */
  readonly waiting: number;
  readonly waitingSince: string | null;
  readonly skipped: number;
  /** Those of `skipped` that it could not see when it got later leads. */
  readonly missedLeads: number;
  /** The `createdAt` of the first lead that was sent and not confirmed. */
  readonly unconfirmedSince: string | null;
  readonly isStuck: boolean;
  /** Polls were not recorded since its last poll. */
  readonly isUnrecorded: boolean;
  readonly last24h: readonly (HourCounts | null)[];
  readonly hook: Omit<NonNullable<Consumer['hook']>, 'id'> | null;
}

/** Leads that no consumer has and none will get. */
export interface UnseenPlace {
  readonly companyId: string;
  readonly company: string;
  /** Null: all of the company, or those without a branch. */
  readonly branchId: string | null;
  readonly branch: string | null;
  readonly departmentId: string | null;
  readonly department: string | null;
  /** Without those of the branches of the company, or of the departments of the branch: they have consumers. */
  readonly isOnlyHere: boolean;
  /** At most 1,000. */
  readonly leads: number;
  /** The `createdAt` of the first of them. */
  readonly since: string;
  /**
   * `none`: no consumer may see the place. `silent`: `consumer` may, and has not polled for so long that it no longer counts. `ended`: they
   * waited for a consumer that does not exist any more. `between`: one had ended, and the next one began after the leads.
   */
  readonly cause: 'none' | 'silent' | 'ended' | 'between';
  readonly consumer: string | null;
  /** A user who may poll and see the place. Null also if it was not looked for: that is done for the worst places. */
  readonly userId: string | null;
}

/**
 * The leads of the last 30 days, without imported history, at most 1,000 in each count of a place. Those that are not counted by
 * a reason have reached a consumer.
 */
export interface LeadCoverage {
  /** Whether there has ever been one, also if it was removed. */
  readonly hasLeads: boolean;
  /** At most 1,000. */
  readonly leads: number;
  /** Not all leads of the last 30 days were read: there may be more than are counted. */
  readonly isPart: boolean;
  /** The `createdAt` of the first of them. Null: there is none, or there are 1,000 or more. */
  readonly since: string | null;
  /** An active consumer gets them with its next polls. */
  readonly waiting: number;
  readonly waitingFor: readonly string[];
  readonly skipped: number;
  /** The first consumer began after them. */
  readonly beforeStart: number;
  readonly unseen: number;
  /** At most 20, the worst first. */
  readonly unseenPlaces: readonly UnseenPlace[];
  /** There may be more: not all are listed, or not all were counted. */
  readonly hasMorePlaces: boolean;
}

export interface SenderRefused {
  /** So many requests are kept: `leadtap leads refused` has them. */
  readonly kept: number;
  /** The same, with those that were sent again. */
  readonly requests: number;
  /** Of those that are kept. */
  readonly firstAt: string | null;
  readonly lastAt: string;
  /** So many of the last 7 days are not kept: not at all, or not any more, without a decision of the operator. */
  readonly unkept: number;
  /** The day in UTC of the first of them. */
  readonly unkeptSince: string | null;
  /** Since when the last one is not kept. */
  readonly unkeptAt: string | null;
  /** Of those that are kept, or else of the last one. Null: of the one that was not kept, it is not known. */
  readonly code: ProblemCode | null;
  readonly fields: readonly string[];
  /** The questions of a form service, for the operator alone. */
  readonly questions: readonly string[];
}

/** A token that sends leads. Fields are their names, never their values. */
export interface SenderStatus {
  /** Public: it does not change, and is no id of a token. */
  readonly id: string;
  readonly name: string | null;
  readonly tokenId: string | null;
  readonly userId: string;
  readonly companyId: string;
  /** The service whose webhooks it sends. Null: the bodies have the fields of a lead. */
  readonly source: string | null;
  readonly tokenExpiresAt: string | null;
  readonly lastRequestAt: string;
  readonly lastAcceptedAt: string | null;
  readonly lastRefusal: {
    readonly at: string;
    readonly code: ProblemCode;
    readonly fields: readonly string[];
  } | null;
  readonly accepted30d: number;
  readonly refused30d: number;
  /** As in `Sender`. */
  readonly last24h: readonly (HourCounts | null)[];
  /** Those that are kept, and those of the last 7 days that are not. */
  readonly refused: SenderRefused | null;
  readonly isRevoked: boolean;
  /** Another token of its user and source has sent since. */
  readonly isReplaced: boolean;
  /** It has sent within the last 30 days. */
  readonly isInUse: boolean;
  readonly problems: readonly SenderProblem[];
}

export interface SenderCounts {
  /** False: `LEADTAP_INTAKE=off`, so their requests get 404. */
  readonly recorded: boolean;
  readonly total: number;
  /** The number of senders with each problem. */
  readonly problems: Readonly<Record<SenderProblem, number>>;
}

export interface HooksStatus {
  readonly active: number;
  readonly failing: number;
  readonly disabled: number;
  /** Those that have been failing for 15 minutes or more. */
  readonly failingLong: number;
}

/** Counted since the start of the instance, or since the first one after a day without any. */
export interface RefusalCount {
  readonly count: number;
  readonly lastAt: string;
}

export interface RefusedConsumer extends RefusalCount {
  readonly userId: string;
  /** Null: all tokens of the user that have no id. */
  readonly tokenId: string | null;
  /** Of the token, if it was issued here. */
  readonly name: string | null;
  /** Whether its last request sent leads. Otherwise, it polls. */
  readonly sendsLeads: boolean;
}

/** Requests to this instance that were answered with a problem. */
export interface Refusal extends RefusalCount {
  readonly code: ProblemCode;
  readonly status: number;
  /** At most 5, the most frequent first. */
  readonly consumers: readonly RefusedConsumer[];
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

/** What is in the memory of the running instance alone. */
export interface InstanceFacts {
  readonly startedAt: string;
  /** Of the last 24 hours. */
  readonly refusals: readonly Refusal[];
  /** The last 20, the newest first. */
  readonly errors: readonly RequestError[];
  /** The address of a proxy that is not trusted and sent `X-Forwarded-Proto: https` in the last hour. */
  readonly untrustedProxy: string | null;
  /** Null without Redis. */
  readonly redis: { readonly reachable: boolean } | null;
}

/** Without who polls and who sends. */
export interface ServiceFacts extends InstanceFacts {
  readonly generatedAt: string;
  readonly version: string;
  readonly database: {
    readonly address: string;
    readonly reachable: boolean;
    /** It has no company. */
    readonly isEmpty: boolean;
    /** Null while it is unreachable. */
    readonly engine: string | null;
    readonly stampsAheadSeconds: number | null;
    /** Of the whole database, with the write-ahead log of SQLite. Null if it could not be read. */
    readonly bytes: number | null;
  };
  readonly leads: {
    /** The newest `createdAt` of all companies; null if there is none, or it could not be read. */
    readonly latestAt: string | null;
    /** No lead has come although, in the same hours of both weeks before, leads came in ten minutes or more. */
    readonly isSilent: boolean;
  };
  /** Of `leadtap backup`; `lastAt` is null if none is known. Null with PostgreSQL. */
  readonly backup: { readonly lastAt: string | null } | null;
  /** The disk of the SQLite file; null with PostgreSQL. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** The number of webhook subscriptions. Null: they could not be counted. */
  readonly hooks: HooksStatus | null;
  /** `LEADTAP_HOOK_HOSTS` of the instance. Null: `LEADTAP_HOOKS=off`. */
  readonly hookHosts: readonly string[] | null;
}

/** What follows from the facts. */
export interface Diagnosis<Problem = StatusProblem> {
  /** False: there is an error. Null: it cannot be said whether every lead was picked up. */
  readonly healthy: boolean | null;
  /** What is proven, such as "Every lead was picked up. All 6 consumers poll as usual." Null if it is not so, or not known. */
  readonly good: string | null;
  /** Why nothing can be said, such as "No consumer has polled yet." */
  readonly note: string | null;
  /** The most urgent first. */
  readonly problems: readonly Problem[];
}

/** One line of the state of the system. */
export interface SystemFact {
  readonly name: string;
  readonly text: string;
  readonly isBad?: boolean;
}

export type ConnectionsOfAll = Pick<Connections, 'since' | 'level' | 'message' | 'in' | 'out'>;

/** With the connections of all companies, as `GET {base_url}/automation/connections` has those of one. */
export interface StatusJson extends Omit<ServiceFacts, 'refusals'>, Diagnosis, ConnectionsOfAll {
  /** `good` or `note`, and the messages of all problems. */
  readonly summary: string;
  /** Null if they could not be read. */
  readonly consumers:
    | (ConsumerCounts & {
        /** What to know about the list. Null: nothing. */
        readonly hint: string | null;
        /** At most 200: those with a problem first, then subscribed, active, inactive, each by name. */
        readonly listed: readonly StatusConsumer[];
      })
    | null;
  /** Null if they could not be read. */
  readonly senders:
    | (SenderCounts & {
        /** At most 200: those with a problem first, then those that sent last. */
        readonly listed: readonly (SenderStatus & StatusRow)[];
      })
    | null;
  /** Of the last 24 hours. */
  readonly refusals: readonly (Refusal & Pick<StatusRow, 'message'> & { readonly fix: string })[];
  readonly system: readonly SystemFact[];
}
