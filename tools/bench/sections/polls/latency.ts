import type { LoadReport } from '../../load/messages.ts';
import { median, type Spread, spread } from '../../report/statistics.ts';
import type { Bench } from '../../section.ts';
import { BARE, type Contestant } from './contestants.ts';
import type { Kind } from './kinds.ts';
import { loadOf, type RateFigures } from './rounds.ts';

export interface LatencyFigures {
  readonly contestant: string;
  /** Requests a second, for everyone the same: half of what the bare server does. */
  readonly rate: number;
  /** In most rounds it could not keep up with the rate: no latency can be told. */
  readonly overloaded: boolean;
  readonly p50Ms: number;
  readonly p99Ms: Spread;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Each round's 99th percentile to that of the bare server in the same round. */
  readonly p99OfBare: Spread;
  readonly serverShare: number;
  readonly generatorShare: number;
}

/** How long answers take at half the rate that the bare server reached. */
export async function compareLatencies(
  bench: Bench,
  kind: Kind,
  contestants: readonly Contestant[],
  rates: readonly RateFigures[],
  seconds: number,
): Promise<LatencyFigures[]> {
  const rate = Math.round((rates.find(({ contestant }) => contestant === BARE)?.perSecond.median ?? 0) / 2);
  const reports = new Map<string, LoadReport[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    bench.progress(`${kind} at ${rate} a second: round ${round} of ${bench.options.rounds}`);
    for (const contestant of contestants) {
      const known = reports.get(contestant.name) ?? [];
      if (known.length === 2 && known.every(isOverloaded)) continue;
      await contestant.prepare(kind);
      known.push(await bench.generator.fixedRate(loadOf(contestant, kind), rate, seconds));
      await contestant.finish(kind);
    }
  }
  const bare = p99sOf(reports.get(BARE) ?? []);
  return [...reports].map(([name, rounds]) => figuresOf(name, rate, rounds, bare));
}

const isOverloaded = ({ latencies }: LoadReport): boolean => latencies?.overloaded ?? false;

const p99sOf = (rounds: readonly LoadReport[]): number[] =>
  rounds.map(({ latencies }) => latencies?.p99Ms ?? Number.NaN);

function figuresOf(
  contestant: string,
  rate: number,
  rounds: readonly LoadReport[],
  bare: readonly number[],
): LatencyFigures {
  const p99s = p99sOf(rounds);
  const medianOf = (value: (report: LoadReport) => number | undefined) =>
    median(rounds.map((report) => value(report) ?? Number.NaN));
  return {
    contestant,
    rate,
    overloaded: rounds.filter(isOverloaded).length > rounds.length / 2,
    p50Ms: medianOf(({ latencies }) => latencies?.p50Ms),
    p99Ms: spread(p99s),
    p999Ms: medianOf(({ latencies }) => latencies?.p999Ms),
    maxMs: medianOf(({ latencies }) => latencies?.maxMs),
    p99OfBare: spread(p99s.map((p99, n) => p99 / (bare[n] ?? Number.NaN))),
    serverShare: medianOf(({ processorMs, seconds }) => (processorMs['server'] ?? 0) / seconds / 1000),
    generatorShare: medianOf(({ generatorMs, seconds }) => generatorMs / seconds / 1000),
  };
}
