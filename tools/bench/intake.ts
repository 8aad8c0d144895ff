import { type Bench, type Dataset, makeDataset, type Result, type Section } from './bench.ts';
import { leadOf, leadsRequest, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { atLeast, spread, whole } from './report.ts';
import { serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, writeRequests } from './wrk.ts';

/** A user may send 600 requests per minute: together these may send more than any machine stores. */
const SHAPE: Shape = { companies: 100, usersOf: () => 20, places: WHOLE_COMPANY };
const ARRAY = 100;
const ARRAY_CONNECTIONS = 8;

/** Without ids: the same request adds other leads each time. */
function requestsOf({ tokens }: Dataset, leadsOfEach: number): string[] {
  const users = leadsOfEach === 1 ? SHAPE.usersOf(0) : 2;
  return Array.from({ length: users * SHAPE.companies }, (_, n) => {
    const token = tokens.get(userId(n % SHAPE.companies, Math.floor(n / SHAPE.companies))) ?? '';
    const leads = Array.from({ length: leadsOfEach }, (__, position) => leadOf(n + position));
    return leadsRequest(token, leadsOfEach === 1 ? (leads[0] ?? {}) : leads);
  });
}

async function measureStore(bench: Bench, dataset: Dataset, store: 'sqlite' | 'postgres') {
  const { rounds, seconds } = bench.options;
  const home = dataset[store];
  const instance = bench.cleanup.own(
    await serve({ ...home, settings: { ...home.settings, LEADTAP_INTAKE: 'on' } }),
  );
  const single = writeRequests(`${bench.folder}/requests-single`, requestsOf(dataset, 1));
  const arrays = writeRequests(`${bench.folder}/requests-arrays`, requestsOf(dataset, ARRAY));
  const rates = { single: [] as number[], arrays: [] as number[] };
  // The first round does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const ofSingle = await load(instance, single, seconds);
    const ofArrays = await load(instance, arrays, seconds, ARRAY_CONNECTIONS);
    if (round === 0) continue;
    rates.single.push(ofSingle.perSecond);
    rates.arrays.push(ofArrays.perSecond * ARRAY);
  }
  await instance.stop();
  return { store, single: spread(rates.single), arrays: spread(rates.arrays) };
}

async function measure(bench: Bench): Promise<Result> {
  const dataset = await makeDataset(bench, bench.checkout, 'intake', SHAPE, 'leads:write');
  const figures = [
    await measureStore(bench, dataset, 'sqlite'),
    await measureStore(bench, dataset, 'postgres'),
  ];
  return {
    tables: [
      {
        title: 'Leads per second over POST /leads',
        columns: ['', 'single', `arrays of ${ARRAY}`],
        rows: figures.map(({ store, single, arrays }) => [store, whole(single.median), whole(arrays.median)]),
      },
    ],
    verdicts: figures.map(({ store, arrays }) =>
      atLeast(
        TARGETS.intakeLeadsPerSecond[store],
        arrays.median,
        `intake, ${store}: leads per second in arrays`,
      ),
    ),
    figures: { stores: figures },
  };
}

export const intake: Section = { name: 'intake', about: 'how fast leads come in over HTTP', measure };
