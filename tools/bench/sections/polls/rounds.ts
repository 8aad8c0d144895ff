import type { LoadReport } from '../../load/messages.ts';
import { median, type Spread, spread } from '../../report/statistics.ts';
import type { Bench } from '../../section.ts';
import { BARE, type Contestant, HAND_WRITTEN } from './contestants.ts';
import type { Kind } from './kinds.ts';

/** Enough to keep every contestant busy; more change nothing. */
export const CONNECTIONS = 64;

export interface RateFigures {
  readonly contestant: string;
  readonly perSecond: Spread;
  /** Each round's rate to that of the bare server, and of the hand-written one, in the same round. */
  readonly ofBare: Spread;
  readonly ofHandWritten?: Spread;
  /** What the server's process spends on a request, the bare server's to this one's: noise hardly touches it. */
  readonly processorOfBare: number;
  /** Processor time a request. */
  readonly micros: Readonly<Record<string, number>>;
  /** The shares of a core that the server itself and the load generator used. */
  readonly serverShare: number;
  readonly generatorShare: number;
  /** Nothing but the server's own process stood in the way of a higher rate. */
  readonly serverBound: boolean;
  readonly answerBytes: number;
}

export const loadOf = (
  { ports, processes, requests }: Contestant,
  kind: Kind,
  connections = CONNECTIONS,
) => ({
  requests: `${requests} ${kind}`,
  ports,
  connections,
  processes,
});

/** Rounds take turns, so that what disturbs the machine disturbs everyone; every other time the other way round. */
export async function compareRates(
  bench: Bench,
  kind: Kind,
  contestants: readonly Contestant[],
  seconds: number,
): Promise<RateFigures[]> {
  const taking = contestants.filter(({ without }) => !without.includes(kind));
  const reports = new Map<Contestant, LoadReport[]>(taking.map((contestant) => [contestant, []]));
  for (let round = 0; round <= bench.options.rounds; round += 1) {
    bench.progress(`${kind}: round ${round} of ${bench.options.rounds}`);
    for (const contestant of round % 2 === 0 ? taking : taking.toReversed()) {
      await contestant.prepare(kind);
      const report = await bench.generator.closedLoop(loadOf(contestant, kind), { seconds });
      await contestant.finish(kind);
      // The first round warms up.
      if (round > 0) reports.get(contestant)?.push(report);
    }
  }
  const ratesOf = (name: string) =>
    [...reports].find(([contestant]) => contestant.name === name)?.[1].map(perSecond) ?? [];
  const bare = ratesOf(BARE);
  const handWritten = ratesOf(HAND_WRITTEN);
  const figures = [...reports].map(([{ name }, rounds]) => figuresOf(name, rounds, bare, handWritten));
  const bareMicros = figures.find(({ contestant }) => contestant === BARE)?.micros['server'] ?? Number.NaN;
  return figures.map((figure) => ({
    ...figure,
    processorOfBare: bareMicros / (figure.micros['server'] ?? Number.NaN),
  }));
}

const perSecond = ({ answers, seconds }: LoadReport): number => answers / seconds;

function figuresOf(
  contestant: string,
  rounds: readonly LoadReport[],
  bare: readonly number[],
  handWritten: readonly number[],
): Omit<RateFigures, 'processorOfBare'> {
  const rates = rounds.map(perSecond);
  const ratios = (base: readonly number[]) => spread(rates.map((rate, n) => rate / (base[n] ?? Number.NaN)));
  const medianOf = (value: (report: LoadReport) => number) => median(rounds.map(value));
  const names = Object.keys(rounds[0]?.processorMs ?? {});
  const micros = names.map((name) => [
    name,
    medianOf(({ processorMs, answers }) => ((processorMs[name] ?? 0) * 1000) / answers),
  ]);
  const serverShare = medianOf(({ processorMs, seconds }) => (processorMs['server'] ?? 0) / seconds / 1000);
  const generatorShare = medianOf(({ generatorMs, seconds }) => generatorMs / seconds / 1000);
  return {
    contestant,
    perSecond: spread(rates),
    ofBare: ratios(bare),
    ...(handWritten.length > 0 && { ofHandWritten: ratios(handWritten) }),
    micros: Object.fromEntries(micros),
    serverShare,
    generatorShare,
    serverBound: serverShare >= 0.9 && generatorShare <= 0.9,
    answerBytes: medianOf(({ bytes, answers }) => bytes / answers),
  };
}
