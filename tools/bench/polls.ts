import type { Bench, Result, Section } from './bench.ts';
import {
  BARE,
  type Contestant,
  KINDS,
  type Kind,
  STORES,
  type StoreName,
  startContestants,
} from './contestants.ts';
import { type Bar, renderPicture } from './picture.ts';
import {
  atLeast,
  median,
  micros,
  ratio,
  ratios,
  type Spread,
  spread,
  type Table,
  type Verdict,
  whole,
} from './report.ts';
import { TARGETS } from './targets.ts';
import { load, type Measured } from './wrk.ts';

interface Figures {
  readonly contestant: string;
  readonly kind: Kind;
  readonly perSecond: Spread;
  /** Processor time of the instance per poll, and of its database and Redis. */
  readonly micros: Spread;
  readonly serverMicros: number;
  /** As a share of the bare server, by rate and by processor time of the instance. */
  readonly rateOfBare: Spread;
  readonly costOfBare: Spread;
}

/** How many times as many polls as the other checkout, with the same processor time and by rate. */
interface Comparison {
  readonly store: StoreName;
  readonly kind: Kind;
  readonly byProcessorTime: Spread;
  readonly byRate: Spread;
}

type Rounds = ReadonlyMap<Contestant, readonly Measured[]>;

/** Node.js has compiled the hot path after about 200,000 polls; before, a poll costs twice as much. */
const WARM_UP_SECONDS = 10;

async function warmUp(bench: Bench, contestants: readonly Contestant[]): Promise<void> {
  bench.progress('polls: warming up');
  for (const contestant of contestants) {
    const { empty } = contestant.requests;
    if (empty) await load(contestant, empty, bench.options.quick ? 2 : WARM_UP_SECONDS);
  }
}

/** Rounds of all contestants alternate, every second time in reverse order. The first one does not count. */
async function measureKind(bench: Bench, contestants: readonly Contestant[], kind: Kind): Promise<Rounds> {
  bench.progress(`polls: ${KINDS[kind]}`);
  const rounds = new Map(
    contestants.filter(({ requests }) => requests[kind]).map((contestant) => [contestant, [] as Measured[]]),
  );
  for (let round = 0; round <= bench.options.rounds; round += 1)
    for (const [contestant, own] of round % 2 === 0 ? rounds : [...rounds].reverse()) {
      const requests = contestant.requests[kind];
      if (!requests) continue;
      const target = contestant.targets?.[kind] ?? contestant;
      const measured = await load(target, requests, bench.options.seconds);
      if (round > 0) own.push(measured);
    }
  return rounds;
}

const valuesOf = (rounds: readonly Measured[] = [], field: keyof Measured): number[] =>
  rounds.map((round) => round[field]);

function figuresOf(kind: Kind, rounds: Rounds): Figures[] {
  const bare = [...rounds].find(([{ name }]) => name === BARE)?.[1];
  return [...rounds].map(([{ name }, own]) => ({
    contestant: name,
    kind,
    perSecond: spread(valuesOf(own, 'perSecond')),
    micros: spread(valuesOf(own, 'micros')),
    serverMicros: median(valuesOf(own, 'serverMicros')),
    rateOfBare: ratios(valuesOf(own, 'perSecond'), valuesOf(bare, 'perSecond')),
    costOfBare: ratios(valuesOf(bare, 'micros'), valuesOf(own, 'micros')),
  }));
}

function compare({ checkout, other }: Bench, kind: Kind, rounds: Rounds): Comparison[] {
  const roundsOf = (of: typeof other, store: StoreName) =>
    [...rounds].find(([contestant]) => contestant.checkout === of && contestant.store === store)?.[1];
  return (Object.keys(STORES) as StoreName[]).flatMap((store) => {
    const [own, others] = [roundsOf(checkout, store), roundsOf(other, store)];
    if (!other || !own || !others) return [];
    const byProcessorTime = ratios(valuesOf(others, 'micros'), valuesOf(own, 'micros'));
    const byRate = ratios(valuesOf(own, 'perSecond'), valuesOf(others, 'perSecond'));
    return [{ store, kind, byProcessorTime, byRate }];
  });
}

const kindTable = (kind: Kind, figures: readonly Figures[]): Table => ({
  title: `Polls: ${KINDS[kind]}`,
  isDetail: kind !== 'empty' && kind !== 'since',
  columns: ['', 'per second', 'of bare, by processor time', 'instance', 'database'],
  rows: figures.map(({ contestant, perSecond, costOfBare, ...cost }) => [
    contestant,
    whole(perSecond.median),
    Number.isNaN(costOfBare.median) ? '' : ratio(costOfBare),
    micros(cost.micros.median),
    cost.serverMicros > 0 ? micros(cost.serverMicros) : '',
  ]),
});

const comparisonTable = (comparisons: readonly Comparison[]): Table => ({
  title: 'Polls of this checkout, compared with the other: how many times as many',
  columns: ['', 'by processor time', 'by rate'],
  rows: comparisons.map(({ store, kind, byProcessorTime, byRate }) => [
    `${STORES[store]}: ${kind}`,
    ratio(byProcessorTime),
    ratio(byRate),
  ]),
});

function verdictsOf({ other }: Bench, figures: readonly Figures[]): Verdict[] {
  if (other) return [];
  return (Object.keys(STORES) as StoreName[]).flatMap((store) => {
    const name = `Leadtap, ${STORES[store]}`;
    return figures
      .filter(({ contestant }) => contestant === name)
      .flatMap(({ kind, costOfBare }) => {
        const target = kind === 'empty' ? TARGETS[store].empty : TARGETS[store].page;
        const figure = `${STORES[store]}: ${kind}, of the bare server by processor time`;
        return Number.isNaN(costOfBare.median) ? [] : [atLeast(target, costOfBare.median, figure)];
      });
  });
}

const COLORS = { bare: '#8b949e', leadtap: '#2f81f7', other: '#d29922' };

/** Undefined if one of the two kinds was not measured. */
function pictureOf(figures: readonly Figures[]): string | undefined {
  const panels = (['empty', 'since'] as const).map((kind) => ({
    title: kind === 'empty' ? 'a poll that finds nothing new' : 'a full page of 100 leads',
    bars: figures
      .filter((figure) => figure.kind === kind)
      .map(({ contestant, perSecond, rateOfBare }): Bar => {
        const color = contestant === BARE ? 'bare' : contestant.startsWith('Leadtap') ? 'leadtap' : 'other';
        const note = color === 'bare' ? 'the limit' : `${rateOfBare.median.toFixed(2)} of it`;
        const label = contestant.replace(' (node:http, pg)', '');
        return { label, value: perSecond.median, note, color: COLORS[color] };
      }),
  }));
  if (panels.some(({ bars }) => bars.length === 0)) return undefined;
  return renderPicture(
    'Polls per second, one process on one core',
    'Grey: the limit, a bare server that sends the same bytes from constants. The ratio to it follows each bar.',
    panels,
  );
}

async function measure(bench: Bench): Promise<Result> {
  const { kinds } = bench.options;
  const contestants = await startContestants(bench);
  await warmUp(bench, contestants);
  const figures: Figures[] = [];
  const comparisons: Comparison[] = [];
  const chosen = (Object.keys(KINDS) as Kind[]).filter((kind) => kinds.length === 0 || kinds.includes(kind));
  for (const kind of chosen) {
    const rounds = await measureKind(bench, contestants, kind);
    figures.push(...figuresOf(kind, rounds));
    comparisons.push(...compare(bench, kind, rounds));
  }
  const tables = chosen.map((kind) =>
    kindTable(
      kind,
      figures.filter((figure) => figure.kind === kind),
    ),
  );
  if (comparisons.length > 0) tables.push(comparisonTable(comparisons));
  const picture = pictureOf(figures);
  return {
    tables,
    verdicts: verdictsOf(bench, figures),
    figures: { polls: figures, comparisons },
    ...(picture !== undefined && { picture }),
  };
}

export const polls: Section = { name: 'polls', about: 'what a poll costs', measure };
