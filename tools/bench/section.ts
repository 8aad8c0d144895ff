import type { Verdict } from './bars.ts';
import type { Cleanup } from './cleanup.ts';
import type { LoadGenerator } from './load/load-generator.ts';
import type { GrowthDatabases } from './made-up/growth/databases.ts';
import type { Table } from './report/table.ts';

export interface Options {
  /** Rounds that count, for each figure. */
  readonly rounds: number;
  /** Small sizes and short rounds. */
  readonly quick: boolean;
  /** The kinds of polls that are measured; an empty list means all. */
  readonly kinds: readonly string[];
  /** How many leads the largest database of the growth section has. */
  readonly leads: number;
}

/** What a section finds when it starts. */
export interface Bench {
  readonly options: Options;
  readonly generator: LoadGenerator;
  /** Runs when the section has ended, or when the bench is interrupted. */
  readonly cleanup: Cleanup;
  /** A folder that is there as long as the section. */
  readonly folder: string;
  /** Made when they are first asked for, and there until the bench ends: they take minutes. */
  readonly databases: () => Promise<GrowthDatabases>;
  /** Says how far the work is. */
  readonly progress: (line: string) => void;
}

export interface SectionResult {
  readonly tables: readonly Table[];
  readonly verdicts: readonly Verdict[];
  /** All that was measured, for tools/bench/results. */
  readonly figures: object;
  /** An SVG for docs/images/performance.svg, which README shows. */
  readonly plot?: string | undefined;
}

export interface Section {
  readonly name: string;
  readonly about: string;
  measure(bench: Bench): Promise<SectionResult>;
}
