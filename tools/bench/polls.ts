import { type Bench, isIncluded, measureInTurns, type Result, type Section } from './bench.ts';
import {
  BARE,
  type Contestant,
  HAND_WRITTEN,
  KINDS,
  type Kind,
  STORES,
  type StoreName,
  startContestants,
} from './contestants.ts';
import { type Bar, renderPicture } from './picture.ts';
import {
  atLeast,
  atMost,
  type Comparison,
  compare,
  cost,
  median,
  micros,
  ratio,
  ratios,
  type Spread,
  spread,
  type Table,
  type Verdict,
  valuesOf,
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

async function measureKind(
  { options, progress }: Bench,
  contestants: readonly Contestant[],
  kind: Kind,
): Promise<Rounds> {
  progress(`polls: ${KINDS[kind]}`);
  const measured = contestants.filter(({ requests }) => requests[kind]);
  return measureInTurns(options.rounds, measured, (contestant) => {
    const requests = contestant.requests[kind];
    if (!requests) throw new Error(`no requests for ${kind}`);
    return load(contestant.targets?.[kind] ?? contestant, requests, options.seconds);
  });
}

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

function comparisonsOf({ checkout }: Bench, kind: Kind, rounds: Rounds): Comparison[] {
  const contestants = [...rounds.keys()];
  return contestants.flatMap((other) => {
    const own = contestants.find((one) => one.checkout === checkout && one.store === other.store);
    if (!own || !other.store || other.checkout === checkout) return [];
    return [compare(`${STORES[other.store]}: ${kind}`, rounds.get(own), rounds.get(other))];
  });
}

const kindTable = (kind: Kind, figures: readonly Figures[]): Table => ({
  title: `Polls: ${KINDS[kind]}`,
  isDetail: true,
  columns: ['', 'per second', 'of bare, by processor time', 'instance', 'database'],
  rows: figures.map(({ contestant, perSecond, costOfBare, ...own }) => [
    contestant,
    whole(perSecond.median),
    Number.isNaN(costOfBare.median) ? '' : ratio(costOfBare),
    micros(own.micros.median),
    own.serverMicros > 0 ? micros(own.serverMicros) : '',
  ]),
});

/** Most automation platforms poll every two minutes. Many start at the full minute: three times as many polls as on average. */
const usersOf = ({ perSecond }: Figures): number => Math.floor((perSecond.median * 120) / 3 / 1000) * 1000;

/** For a whole run: the figures that users ask for. */
function userTables(figures: readonly Figures[]): Table[] {
  const cells = (contestant: string, kind: Kind, cell: (figure: Figures) => string[]): string[] =>
    figures.filter((figure) => figure.contestant === contestant && figure.kind === kind).flatMap(cell);
  const costCell = (figure: Figures) => cost(figure.micros.median, figure.serverMicros);
  const pollCells = (figure: Figures) => [
    whole(figure.perSecond.median),
    costCell(figure),
    figure.costOfBare.median.toFixed(2),
  ];
  const stores = Object.values(STORES).map((store) => `Leadtap, ${store}`);
  const columns = ['per second', 'cost of a poll', 'of bare'];
  return [
    {
      title: 'How many polls does one core answer?',
      columns: [
        '',
        ...columns.map((name) => `empty: ${name}`),
        ...columns.map((name) => `100 leads: ${name}`),
      ],
      rows: [BARE, HAND_WRITTEN, ...stores].map((name) => [
        name,
        ...cells(name, 'empty', pollCells),
        ...cells(name, 'page', pollCells),
      ]),
    },
    {
      title: 'How many users can one instance serve?',
      columns: [
        '',
        'polls per second',
        'cost of a poll',
        'users, each polls every 2 minutes',
        'cost of a page of 100 old leads',
      ],
      rows: stores.map((name) => [
        name,
        ...cells(name, 'cold', (figure) => [
          whole(figure.perSecond.median),
          costCell(figure),
          whole(usersOf(figure)),
        ]),
        ...cells(name, 'old', (figure) => [costCell(figure)]),
      ]),
    },
  ];
}

function verdictsOf(figures: readonly Figures[]): Verdict[] {
  const find = (contestant: string, kind: Kind) =>
    figures.find((figure) => figure.contestant === contestant && figure.kind === kind);
  const handWritten = find(HAND_WRITTEN, 'old');
  return Object.entries(STORES).flatMap(([store, label]) => {
    const targets = TARGETS.ofBare[store as StoreName];
    const ofBare = (Object.keys(KINDS) as Kind[]).flatMap((kind) => {
      const [target, own] = [targets[kind], find(`Leadtap, ${label}`, kind)];
      if (target === undefined || !own) return [];
      return [
        atLeast(target, own.costOfBare.median, `${label}: ${kind}, of the bare server by processor time`),
      ];
    });
    const old = find(`Leadtap, ${label}`, 'old');
    if (!old || !handWritten) return ofBare;
    const both = ({ micros: own, serverMicros }: Figures) => own.median + serverMicros;
    const figure = `${label}: old page, cost of the hand-written poll`;
    return [
      ...ofBare,
      atMost(TARGETS.oldPage, old.micros.median / handWritten.micros.median, `${figure}, instance`),
      atMost(TARGETS.oldPage, both(old) / both(handWritten), `${figure}, instance and database`),
    ];
  });
}

const COLORS = { bare: '#8b949e', leadtap: '#2f81f7', other: '#d29922' };

/** Undefined if one of the two kinds was not measured. */
function pictureOf(figures: readonly Figures[]): string | undefined {
  const panels = (['empty', 'page'] as const).map((kind) => ({
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
  const { kinds, stores } = bench.options;
  const contestants = await startContestants(bench);
  await warmUp(bench, contestants);
  const figures: Figures[] = [];
  const comparisons: Comparison[] = [];
  const tables: Table[] = [];
  for (const kind of (Object.keys(KINDS) as Kind[]).filter((name) => isIncluded(name, kinds))) {
    const rounds = await measureKind(bench, contestants, kind);
    const own = figuresOf(kind, rounds);
    figures.push(...own);
    tables.push(kindTable(kind, own));
    comparisons.push(...comparisonsOf(bench, kind, rounds));
  }
  if (kinds.length + stores.length === 0 && bench.checkouts.length === 1) tables.push(...userTables(figures));
  const picture = pictureOf(figures);
  return {
    tables,
    verdicts: verdictsOf(figures),
    comparisons,
    figures,
    ...(picture !== undefined && { picture }),
  };
}

export const polls: Section = { name: 'polls', about: 'what a poll costs', isComparison: true, measure };
