import { atMost, BARS, type Verdict } from '../../bars.ts';
import {
  type GrowthDatabases,
  SIZES,
  type SizeName,
  type StoreName,
} from '../../made-up/growth/databases.ts';
import { usersIn } from '../../made-up/growth/shape.ts';
import { micros, spreadOf } from '../../report/figures.ts';
import type { Table } from '../../report/table.ts';
import type { Bench, Section, SectionResult } from '../../section.ts';
import { measureFirstPolls, measureHistory } from './cold-polls.ts';
import { type Served, serveDatabase } from './served.ts';
import { type GrowthFigures, measureWarmPolls, QUERIES } from './warm-polls.ts';

async function measure(bench: Bench): Promise<SectionResult> {
  const databases = await bench.databases();
  const figures: GrowthFigures[] = [];
  for (const store of ['sqlite', 'postgres'] as const) {
    const served = await serveAll(bench, databases, store);
    figures.push(...(await measureWarmPolls(bench, store, served)));
    figures.push(...(await measureHistory(bench, store, served)));
    figures.push(...(await measureFirstPolls(bench, store, served)));
  }
  const warm = figures.filter(({ kind }) => Object.hasOwn(QUERIES, kind));
  const cold = figures.filter(({ kind }) => !Object.hasOwn(QUERIES, kind));
  return {
    tables: [warmTable(warm), coldTable(cold)],
    verdicts: verdictsOf(warm),
    figures: { sizes: sizesOf(databases), polls: figures },
  };
}

async function serveAll(
  bench: Bench,
  databases: GrowthDatabases,
  store: StoreName,
): Promise<Record<SizeName, Served>> {
  const serveOne = (size: SizeName) => serveDatabase(databases[store][size], bench.cleanup);
  return { small: await serveOne('small'), medium: await serveOne('medium'), large: await serveOne('large') };
}

const sizesOf = ({ sqlite }: GrowthDatabases) =>
  Object.fromEntries(
    SIZES.map((size) => [size, { ...sqlite[size].shape, users: usersIn(sqlite[size].shape) }]),
  );

const warmTable = (figures: readonly GrowthFigures[]): Table => ({
  title: 'Processor time a poll, of the service and its database, as the databases grow',
  columns: ['', ...SIZES, 'medium/small', 'large/small'],
  rows: figures.map(({ store, kind, level, micros: costs, growth }) => [
    `${store}: ${kind}, ${level}`,
    ...SIZES.map((size) => micros(costs[size])),
    spreadOf(growth['medium']),
    spreadOf(growth['large']),
  ]),
});

const coldTable = (figures: readonly GrowthFigures[]): Table => ({
  title: 'The same for polls that no memory helps',
  columns: ['', 'small', 'medium', 'large', 'ratio', 'large, all companies', 'ratio'],
  rows: figures.map(({ store, kind, micros: costs, growth }) => [
    `${store}: ${kind}`,
    micros(costs['small']),
    micros(costs['medium']),
    micros(costs['large']),
    spreadOf(growth['large']),
    micros(costs['large, all companies']),
    spreadOf(growth['large, all companies']),
  ]),
  note: 'Pages of the past are compared with the medium size, because the small one has no past; first polls with the small size.',
});

/** For each kind of poll that of the level which grows most. */
function verdictsOf(figures: readonly GrowthFigures[]): Verdict[] {
  const stores = ['sqlite', 'postgres'] as const;
  return stores.flatMap((store) =>
    Object.keys(QUERIES).map((kind) => {
      const ratios = figures
        .filter((figure) => figure.store === store && figure.kind === kind)
        .map(({ growth }) => growth['large']?.median ?? Number.NaN);
      const figure = `growth, ${store}: ${kind} poll, the worst of three levels`;
      return atMost(BARS.growth, Math.max(...ratios), figure);
    }),
  );
}

export const growth: Section = {
  name: 'growth',
  about: 'what a poll costs with few and with many leads, users and companies',
  measure,
};
