import {
  type Bench,
  type Dataset,
  makeDataset,
  measureInTurns,
  measureStores,
  type Result,
  type Section,
} from './bench.ts';
import { STORES } from './contestants.ts';
import { leadOf, leadsRequest, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { preparePgbench } from './pgbench.ts';
import { atLeast, compare, cost, median, millis, spread, valuesOf, whole } from './report.ts';
import { serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, type Measured, writeRequests } from './wrk.ts';

/**
 * The requests of 64 connections queue for the locks of 20 companies. A user may send 600 requests per minute: together, these users
 * may send more than any machine stores.
 */
const SHAPE: Shape = { companies: 20, usersOf: () => 100, places: WHOLE_COMPANY };
const ARRAY = 100;
const ARRAY_USERS = 10;
const ARRAY_CONNECTIONS = 8;
const WARM_UP_SECONDS = 5;

/** Without ids: the same request adds other leads each time. */
function requestsOf({ tokens }: Dataset, leadsOfEach: number): string[] {
  const users = leadsOfEach === 1 ? SHAPE.usersOf(0) : ARRAY_USERS;
  return Array.from({ length: users * SHAPE.companies }, (_, n) => {
    const token = tokens.get(userId(n % SHAPE.companies, Math.floor(n / SHAPE.companies))) ?? '';
    const leads = Array.from({ length: leadsOfEach }, (__, position) => leadOf(n + position));
    return leadsRequest(token, leadsOfEach === 1 ? (leads[0] ?? {}) : leads);
  });
}

/** One instance, which gets one lead after the other, single leads over many connections, and arrays. */
async function startContestant(bench: Bench, dataset: Dataset, store: 'sqlite' | 'postgres') {
  const { seconds, quick } = bench.options;
  const home = dataset[store];
  const settings = { ...home.settings, LEADTAP_INTAKE: 'on' };
  const instance = bench.cleanup.own(await serve({ ...home, settings }));
  const target = { ...instance, serverPids: store === 'postgres' ? [dataset.postgresPid] : [] };
  const file = `${bench.folder}/requests-intake-${home.checkout.name}`;
  const single = writeRequests(`${file}-single`, requestsOf(dataset, 1));
  const arrays = writeRequests(`${file}-arrays`, requestsOf(dataset, ARRAY));
  await load(target, single, quick ? 1 : WARM_UP_SECONDS);
  return async () => ({
    alone: await load(target, single, seconds, 1),
    single: await load(target, single, seconds),
    arrays: await load(target, arrays, seconds, ARRAY_CONNECTIONS),
  });
}

async function measureStore(bench: Bench, datasets: readonly Dataset[], store: 'sqlite' | 'postgres') {
  bench.progress(`intake: ${store}`);
  const contestants: Awaited<ReturnType<typeof startContestant>>[] = [];
  for (const dataset of datasets) contestants.push(await startContestant(bench, dataset, store));
  const pgbench =
    store === 'postgres' && datasets[0]
      ? await preparePgbench(bench, datasets[0], SHAPE.companies)
      : undefined;
  const plain: number[] = [];
  const rounds = await measureInTurns(bench.options.rounds, contestants, async (contestant) => {
    if (pgbench && contestant === contestants[0]) plain.push(await pgbench());
    return contestant();
  });
  const [own = [], others = []] = [...rounds.values()];
  const of = (measured: typeof own, kind: keyof (typeof own)[number]): Measured[] =>
    measured.map((round) => round[kind]);
  const single = of(own, 'single');
  return {
    store,
    aloneMs: spread(valuesOf(of(own, 'alone'), 'perSecond').map((rate) => 1000 / rate)),
    single: spread(valuesOf(single, 'perSecond')),
    micros: spread(valuesOf(single, 'micros')),
    serverMicros: median(valuesOf(single, 'serverMicros')),
    arrays: spread(valuesOf(of(own, 'arrays'), 'perSecond').map((rate) => rate * ARRAY)),
    plain: plain.length > 0 ? spread(plain) : undefined,
    comparisons: (['alone', 'single', 'arrays'] as const)
      .filter(() => others.length > 0)
      .map((kind) => compare(`${STORES[store]}: leads in, ${kind}`, of(own, kind), of(others, kind))),
  };
}

async function measure(bench: Bench): Promise<Result> {
  const datasets: Dataset[] = [];
  for (const checkout of bench.checkouts)
    datasets.push(await makeDataset(bench, checkout, 'intake', SHAPE, 'leads:write'));
  const figures = await measureStores(bench, (store) => measureStore(bench, datasets, store));
  return {
    tables: [
      {
        title: 'How fast does a lead get in?',
        columns: ['', 'one lead alone', 'leads per second', 'cost of a lead', `in arrays of ${ARRAY}`],
        rows: figures.flatMap(({ store, aloneMs, single, micros, serverMicros, arrays, plain }) => [
          [
            `Leadtap, ${STORES[store]}`,
            millis(aloneMs.median),
            whole(single.median),
            cost(micros.median, serverMicros),
            whole(arrays.median),
          ],
          ...(plain
            ? [['PostgreSQL alone: lock, INSERT, COMMIT (pgbench)', '', whole(plain.median), '', '']]
            : []),
        ]),
      },
    ],
    verdicts: figures.map(({ store, arrays }) =>
      atLeast(
        TARGETS.intakeLeadsPerSecond[store],
        arrays.median,
        `intake, ${store}: leads per second in arrays`,
      ),
    ),
    comparisons: figures.flatMap(({ comparisons }) => comparisons),
    figures,
  };
}

export const intake: Section = {
  name: 'intake',
  about: 'how fast leads come in over HTTP',
  isComparison: true,
  measure,
};
