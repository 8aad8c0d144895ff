import type { LoadReport } from '../../load/messages.ts';
import { median, type Spread, spread } from '../../report/statistics.ts';

/** Processor time a poll, of the service and its database together, in microseconds. */
export const costOf = ({ processorMs, answers }: LoadReport): number =>
  (Object.values(processorMs).reduce((sum, ms) => sum + ms, 0) * 1000) / answers;

export interface Costs {
  /** The median of the rounds, by size. */
  readonly micros: Readonly<Record<string, number>>;
  /** Of each size to the first: the ratio of each round. */
  readonly growth: Readonly<Record<string, Spread>>;
}

export interface Rounds {
  readonly rounds: number;
  /** One more before them, which does not count. */
  readonly warmUp: boolean;
}

/** Rounds of all sizes take turns. */
export async function compareCosts<Size extends string>(
  sizes: readonly Size[],
  { rounds, warmUp }: Rounds,
  measure: (size: Size) => Promise<LoadReport>,
): Promise<Costs> {
  const costs = new Map<Size, number[]>(sizes.map((size) => [size, []]));
  for (let round = warmUp ? 0 : 1; round <= rounds; round += 1)
    for (const size of round % 2 === 0 ? sizes : [...sizes].reverse()) {
      const cost = costOf(await measure(size));
      if (round > 0) costs.get(size)?.push(cost);
    }
  const first = [...costs.values()][0] ?? [];
  const ratios = (all: readonly number[]) => spread(all.map((cost, n) => cost / (first[n] ?? Number.NaN)));
  return {
    micros: Object.fromEntries([...costs].map(([size, all]) => [size, median(all)])),
    growth: Object.fromEntries([...costs].slice(1).map(([size, all]) => [size, ratios(all)])),
  };
}
