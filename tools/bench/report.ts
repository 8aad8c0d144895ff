import { availableParallelism, cpus } from 'node:os';
import type { Measured } from './wrk.ts';

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The median of several rounds, and the lowest and highest of them. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  low: Math.min(...values),
  high: Math.max(...values),
});

/** Of each round to the same round of another. */
export const ratios = (values: readonly number[], others: readonly number[]): Spread =>
  spread(values.map((value, n) => value / (others[n] ?? Number.NaN)));

export const whole = (value: number): string => Math.round(value).toLocaleString('en');
export const micros = (value: number): string => `${whole(value)} µs`;
export const millis = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
export const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
export const ratio = ({ median: middle, low, high }: Spread): string =>
  `${middle.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`;

/** Processor time of the instance, and of its database and Redis, per request. */
export const cost = (own: number, servers: number): string =>
  servers > 0 ? `${whole(own)} + ${micros(servers)}` : micros(own);

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** For the terminal and results.json; docs/performance.md does without it. */
  readonly isDetail?: boolean;
}

/** For a terminal: the first column is left-aligned, the others are right-aligned. */
export function renderTable({ title, columns, rows }: Table): string {
  const lines = [columns, ...rows];
  const widths = columns.map((_, n) => Math.max(...lines.map((line) => line[n]?.length ?? 0)));
  const render = (line: readonly string[]) =>
    widths
      .map((width, n) => (n === 0 ? (line[n] ?? '').padEnd(width) : (line[n] ?? '').padStart(width)))
      .join('  ')
      .trimEnd();
  return [title, '', ...lines.map(render)].join('\n');
}

export function renderMarkdown({ title, columns, rows }: Table, section: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [columns, columns.map(() => '---'), ...rows].map(line).join('\n');
  return `### ${title}\n\n${table}\n\n\`npm run bench -- --only ${section}\``;
}

/** A figure that has a target. */
export interface Verdict {
  readonly figure: string;
  readonly target: string;
  readonly value: number;
  readonly met: boolean;
}

export const atLeast = (target: number, value: number, figure: string): Verdict => ({
  figure,
  target: `at least ${target.toLocaleString('en')}`,
  value,
  met: value >= target,
});

export const atMost = (target: number, value: number, figure: string): Verdict => ({
  figure,
  target: `at most ${target.toLocaleString('en')}`,
  value,
  met: value <= target,
});

export const verdictTable = (verdicts: readonly Verdict[]): Table => ({
  title: 'Targets',
  columns: ['', 'target', 'measured', ''],
  rows: verdicts.map(({ figure, target, value, met }) => [
    figure,
    target,
    value >= 100 ? whole(value) : String(Number(value.toPrecision(3))),
    met ? 'met' : 'missed',
  ]),
});

export const valuesOf = (rounds: readonly Measured[] = [], field: keyof Measured): number[] =>
  rounds.map((round) => round[field]);

/** How many times as many requests as the other checkout: with the same processor time of the instance, and in the same time. */
export interface Comparison {
  readonly figure: string;
  readonly byProcessorTime: Spread;
  readonly byRate: Spread;
}

export const compare = (
  figure: string,
  own: readonly Measured[] = [],
  others: readonly Measured[] = [],
): Comparison => ({
  figure,
  byProcessorTime: ratios(valuesOf(others, 'micros'), valuesOf(own, 'micros')),
  byRate: ratios(valuesOf(own, 'perSecond'), valuesOf(others, 'perSecond')),
});

export const comparisonTable = (comparisons: readonly Comparison[]): Table => ({
  title: 'This checkout, compared with the other: how many times as many requests',
  columns: ['', 'by processor time', 'by rate'],
  rows: comparisons.map(({ figure, byProcessorTime, byRate }) => [
    figure,
    ratio(byProcessorTime),
    ratio(byRate),
  ]),
});

export const machine = () => ({
  at: new Date().toISOString(),
  cores: availableParallelism(),
  processor: cpus()[0]?.model ?? 'unknown',
  node: process.version,
});
