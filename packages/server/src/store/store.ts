/**
 * The port between Leadtap and a database: the sum of what its parts need. It names no driver: `sqlite/` and `postgres/` are
 * its adapters, and `packages/store-conformance` is the test suite that both pass.
 */
import type { AccountStore } from '../accounts/store.ts';
import type { ConnectionStore } from '../connections/store.ts';
import type { HookStore } from '../hooks/store.ts';
import type { IntakeStore, RefusedLeadStore } from '../intake/store.ts';
import type { LeadStore } from '../leads/store.ts';

export interface StoreStatus {
  /** Engine and version, to be displayed. */
  readonly engine: string;
  /** The latest stamp of all companies; 0 when there is none. After a burst it is ahead of the clock. */
  readonly latestStamp: number;
  /** The current time of the clock that stamps leads. */
  readonly now: number;
}

export interface Store extends AccountStore, IntakeStore, LeadStore {
  /** The ways in and out, and what became of each lead. */
  readonly connections: ConnectionStore;
  /** Webhook subscriptions. */
  readonly hooks: HookStore;
  /** Requests that sent leads and were refused. */
  readonly refusedLeads: RefusedLeadStore;

  /** One cheap read that rejects while polls would fail. `/readyz` calls it for clients without a token. */
  ping(): Promise<void>;
  /** May read every company. For the metrics and the doctor, never for requests without a token. */
  status(): Promise<StoreStatus>;
  /** The size of the whole database, for the status page. */
  readSize(): Promise<number>;
  close(): Promise<void>;
}

/** The state of a database, read without creating or changing anything. */
export interface Inspection {
  readonly exists: boolean;
  readonly schemaVersion: number;
  readonly expectedVersion: number;
  /** Errors that the engine found in its own files, one sentence each. */
  readonly faults: readonly string[];
  /** Absent: the database is a file. */
  readonly server?: ServerFacts;
}

/** The settings of a database server that the doctor checks. */
export interface ServerFacts {
  /** The clock of the server, which stamps the leads, minus the clock of this machine. */
  readonly clockAheadMs: number;
  /** A standby accepts no leads, and its locks do not cover the writers of its primary. */
  readonly isStandby: boolean;
  /** False: a crash can lose acknowledged leads. */
  readonly isDurable: boolean;
  /** The default isolation level of our transactions. */
  readonly isolation: string;
  readonly encoding: string;
}

export interface BackupReport {
  readonly bytes: number;
}

export interface SchemaOptions {
  /** Bring the schema up to date first (the default), or refuse one that is not. */
  readonly migrate?: boolean;
  /** Create the schema if there is none (the default), or throw a `SchemaVersionError` that found version 0. Needs `migrate`. */
  readonly create?: boolean;
  /** The schema was updated. */
  readonly onMigrated?: (report: MigrationReport) => void;
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  /** The names of the migrations that were applied. */
  readonly applied: readonly string[];
  /** What failed without making the schema unusable, one sentence each. */
  readonly warnings?: readonly string[];
}
