/**
 * What happened in a trial. Positions count up by one with every event, so that the judge can say which of two events
 * came first without asking a clock.
 */

export const LEVELS = ['COMPANY', 'BRANCH', 'DEPARTMENT'] as const;

/** What a user may see. */
export interface Scope {
  readonly companyId: string;
  readonly level: (typeof LEVELS)[number];
}

export interface LeadState {
  readonly branchId: string | null;
  readonly departmentId: string | null;
  /** Unique for each write: the lead's first name. */
  readonly version: string;
}

export interface Change {
  readonly companyId: string;
  readonly id: string;
  /** Undefined: the lead is deleted. */
  readonly state: LeadState | undefined;
  /** As its writer read it in the transaction, in milliseconds; undefined where the writer cannot know. */
  readonly createdAt?: number | undefined;
  /** Keeps a `createdAt` of the past, so no client is promised to get it. */
  readonly isHistorical?: boolean;
  /** The same transaction has deleted it first, so it has another `createdAt` than before. */
  readonly isReinserted?: boolean;
}

export interface Write extends Change {
  /** Just before the commit was sent: nothing can see the write earlier. */
  readonly begun: number;
  /** When the commit was confirmed: from then on every poll must see it. Undefined: the outcome is unknown. */
  readonly acknowledged: number | undefined;
  /** Where the outcome is unknown: from here on it cannot happen any more, if it has not happened. */
  readonly settled?: number | undefined;
}

export interface SeenLead {
  readonly id: string;
  readonly version: string;
  readonly createdAt: number;
  readonly triggerId: string;
  readonly automationCreatedAt: string;
}

/** What a client remembers between two polls. */
export type Memory = 'createdAt' | 'date' | 'link' | 'ids';

export interface Client {
  readonly name: string;
  readonly profile: string;
  readonly scope: Scope;
  readonly memory: Memory;
}

export interface Page {
  readonly client: Client;
  readonly begun: number;
  readonly ended: number;
  /** Undefined: the newest leads were asked for. */
  readonly since: number | undefined;
  readonly limit: number;
  /** The `Date` of the answer, in milliseconds. */
  readonly date: number;
  /** In the order of the answer. A 304 stands for the page that the client has already. */
  readonly leads: readonly SeenLead[];
}

export interface StoredLead {
  readonly companyId: string;
  readonly id: string;
  readonly version: string;
  readonly createdAt: number;
}

export interface History {
  readonly writes: readonly Write[];
  readonly pages: readonly Page[];
  /** What the tables hold when all writers are done. */
  readonly stored: readonly StoredLead[];
  /** When the clock was first set back: from then on the `Date` of an answer promises nothing. */
  readonly clockSetBackAt: number | undefined;
  /** A sentence for each defect that an actor saw itself, such as a lead that its own writer cannot read. */
  readonly complaints: readonly string[];
}
