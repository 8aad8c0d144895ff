/** What the status page, the metrics, the alerts and `leadtap doctor` share: the facts, and what follows from them. */
import type { ConnectionLevel, StatusFacts, StatusProblem } from '@leadtap/contract';
import type { Report } from '../connections/report.ts';

/** What is read by itself, and may fail by itself. */
export type Part = 'database' | 'connections' | 'size' | 'disk' | 'backup';

/** What the rules are applied to. */
export interface Facts extends StatusFacts {
  /** Of all companies. Null: they could not be read. */
  readonly connections: Report | null;
  readonly unread: ReadonlySet<Part>;
}

export interface StatusReport extends Facts {
  /** The worst of the connections and the problems. */
  readonly level: ConnectionLevel;
  /** Of the installation alone, the most urgent first. */
  readonly problems: readonly StatusProblem[];
}
