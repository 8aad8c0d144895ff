/** The value below which the given share of all values lies. Not a number when there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** What several rounds gave: the median, and how far they lay apart. */
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
