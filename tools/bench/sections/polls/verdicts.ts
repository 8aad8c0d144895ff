import { atLeast, atMost, BARS, type Verdict } from '../../bars.ts';
import { titleOf } from './contestants.ts';
import type { Kind } from './kinds.ts';
import type { LatencyFigures } from './latency.ts';
import type { RateFigures } from './rounds.ts';

export type Rates = Partial<Record<Kind, readonly RateFigures[]>>;
export type AllLatencies = Partial<Record<Kind, readonly LatencyFigures[]>>;
type Name = 'sqlite' | 'postgres' | 'redis';

const WORDS: Partial<Record<Kind, string>> = {
  empty: 'empty poll',
  newest: 'full page without since',
  since: 'full page with since',
};

const figureOf = <T extends { readonly contestant: string }>(
  figures: readonly T[] | undefined,
  name: Name,
): T | undefined => figures?.find(({ contestant }) => contestant === titleOf(name));

/** Of the kinds that were measured. */
export function verdictsOf(rates: Rates, latencies: AllLatencies): Verdict[] {
  const rate = (name: Name, kind: Kind, base: 'ofBare' | 'ofHandWritten', bar: number): Verdict[] => {
    const figure = figureOf(rates[kind], name);
    const byRate = figure?.[base]?.median;
    // Processor time tells the same as the rate, and noise hardly touches it.
    const value =
      base === 'ofBare' && figure && byRate !== undefined ? Math.max(byRate, figure.processorOfBare) : byRate;
    const of = base === 'ofBare' ? 'bare server' : 'hand-written server';
    return value === undefined ? [] : [atLeast(bar, value, `${titleOf(name)}: ${WORDS[kind]}, of the ${of}`)];
  };
  const p99 = (name: Name, kind: Kind, bar: number): Verdict[] => {
    const figure = figureOf(latencies[kind], name);
    if (!figure) return [];
    const value = figure.overloaded ? Number.POSITIVE_INFINITY : figure.p99OfBare.median;
    return [atMost(bar, value, `${titleOf(name)}: ${WORDS[kind]}, p99 of the bare server's`)];
  };
  /** By rate or by processor time, whichever noise has disturbed less. */
  const manyUsers = (name: Name): Verdict[] => {
    const [many, few] = [figureOf(rates.many, name), figureOf(rates.empty, name)];
    if (!many || !few) return [];
    const value = Math.max(
      many.ofBare.median / few.ofBare.median,
      many.processorOfBare / few.processorOfBare,
    );
    return [atLeast(BARS.manyUsersOfFew, value, `${titleOf(name)}: empty poll, 50,000 users of 6,000`)];
  };
  const full = ['newest', 'since'] as const;
  const { sqlite, postgres, redis } = BARS;
  return [
    rate('sqlite', 'empty', 'ofBare', sqlite.emptyOfBare),
    ...full.map((kind) => rate('sqlite', kind, 'ofBare', sqlite.fullOfBare)),
    p99('sqlite', 'empty', sqlite.p99OfBare),
    p99('sqlite', 'since', sqlite.p99OfBare),
    rate('postgres', 'empty', 'ofBare', postgres.emptyOfBare),
    rate('postgres', 'empty', 'ofHandWritten', postgres.emptyOfHandWritten),
    ...full.map((kind) => rate('postgres', kind, 'ofBare', postgres.fullOfBare)),
    ...full.map((kind) => rate('postgres', kind, 'ofHandWritten', postgres.fullOfHandWritten)),
    rate('redis', 'empty', 'ofBare', redis.emptyOfBare),
    ...full.map((kind) => rate('redis', kind, 'ofBare', redis.fullOfBare)),
    manyUsers('sqlite'),
    manyUsers('postgres'),
    manyUsers('redis'),
  ].flat();
}
