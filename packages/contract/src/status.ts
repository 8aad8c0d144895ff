/**
 * `/status.json` of the private address, which the operator's page shows and outside programs rely on. Times are ISO 8601 in UTC. Commands
 * in a fix are between backticks.
 */
import type { Connections } from './connection-schemas.ts';
import type { ProblemCode } from './problems.ts';

/** A problem of the installation. Those of connections stand in their rows. */
export interface StatusProblem {
  /** Stable, for programs. */
  readonly kind:
    | 'database-unreachable'
    | 'no-company'
    | 'connections-unknown'
    | 'requests-failed'
    | 'disk-low'
    | 'redis-unreachable'
    | 'stamps-ahead'
    | 'alerts-failing'
    | 'backup-old'
    | 'proxy-not-trusted';
  readonly level: 'error' | 'warning' | 'unknown';
  readonly message: string;
  /** What to do. */
  readonly fix: string;
  /** Where the service explains it, below its base address: `/docs#kind`. */
  readonly docs: string;
}

/** Requests to this instance that were answered with one problem, in the last 24 hours. */
export interface Refusal {
  readonly code: ProblemCode;
  readonly status: number;
  /** Since the start of the instance, or since the first one after a day without any. */
  readonly count: number;
  readonly lastAt: string;
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

/** What is known of the installation. */
export interface StatusFacts {
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
  /** The newest `createdAt` of all companies; null if there is none, or it could not be read. */
  readonly latestLeadAt: string | null;
  /** Of `leadtap backup`; `lastAt` is null if none is known. Null with PostgreSQL. */
  readonly backup: { readonly lastAt: string | null } | null;
  /** The disk of the SQLite file; null with PostgreSQL. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** `LEADTAP_HOOK_HOSTS` of the instance. Null: `LEADTAP_HOOKS=off`. */
  readonly hookHosts: readonly string[] | null;
  /** What follows is in the memory of the running instance alone. */
  readonly startedAt: string;
  readonly refusals: readonly Refusal[];
  /** The last 20, the newest first. */
  readonly errors: readonly RequestError[];
  /** The address of a proxy that is not trusted and sent `X-Forwarded-Proto: https` in the last hour. */
  readonly untrustedProxy: string | null;
  /** Why the last alert was not accepted, in the last 24 hours, such as `404`. Null: it was, or there was none. */
  readonly alertFailure: string | null;
  /** Null without Redis. */
  readonly redis: { readonly reachable: boolean } | null;
}

/** One line of the state of the system. */
export interface SystemFact {
  readonly name: string;
  readonly text: string;
  readonly isBad?: boolean;
}

/**
 * With the connections of all companies, as `GET {base_url}/automation/connections` has those of one. `level` is the worst of theirs and of
 * the problems.
 */
export interface StatusJson
  extends Omit<StatusFacts, 'refusals'>,
    Pick<Connections, 'since' | 'level' | 'message' | 'in' | 'out'> {
  /** The most urgent first. */
  readonly problems: readonly StatusProblem[];
  readonly refusals: readonly (Refusal & { readonly message: string; readonly fix: string })[];
  readonly system: readonly SystemFact[];
}
