import { type LeadInput, openPostgresStore, openSqliteStore, type Store } from 'leadtap';
import { type Bench, type Dataset, makeDataset, type Result, type Section } from './bench.ts';
import { companyId, leadOf, leadsRequest, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { atLeast, ratio, ratios, spread, whole } from './report.ts';
import { serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { CONNECTIONS, load, writeRequests } from './wrk.ts';

/** A user may send 600 requests per minute: together these may send more than any machine stores. */
const SHAPE: Shape = {
  companies: 100,
  usersOf: () => 20,
  places: WHOLE_COMPANY,
  leads: 0,
  intervalMs: 0,
  companyOf: () => 0,
};
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

function inputOf(n: number): LeadInput {
  const { branchId, departmentId, appointmentDateTime: _, images: __, ...fields } = leadOf(n);
  return { companyId: companyId(n % SHAPE.companies), branchId, departmentId, fields };
}

/** Transactions of one lead each per second of the store itself, by as many callers. */
async function storeRate(store: Store, seconds: number): Promise<number> {
  let written = 0;
  const startedAt = performance.now();
  const write = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      const { results } = await store.writeLeads([inputOf(written)]);
      if (results.some(({ kind }) => kind !== 'added')) throw new Error('the store rejected a lead');
      written += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, write));
  return (written * 1000) / (performance.now() - startedAt);
}

async function measureStore(bench: Bench, dataset: Dataset, name: 'sqlite' | 'postgres') {
  const { rounds, seconds } = bench.options;
  const home = dataset[name];
  const instance = bench.cleanup.own(
    await serve({ ...home, settings: { ...home.settings, LEADTAP_INTAKE: 'on' } }),
  );
  const store =
    name === 'sqlite'
      ? await openSqliteStore({ file: `${home.folder}/leadtap.db`, migrate: false })
      : // A busy machine is no fault.
        await openPostgresStore({
          url: dataset.postgresUrl,
          migrate: false,
          connectLimitMs: 60_000,
          queryLimitMs: 60_000,
        });
  const single = writeRequests(`${bench.folder}/requests-single`, requestsOf(dataset, 1));
  const arrays = writeRequests(`${bench.folder}/requests-arrays`, requestsOf(dataset, ARRAY));
  const rates = { store: [] as number[], single: [] as number[], arrays: [] as number[] };
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const ofStore = await storeRate(store, seconds);
      const ofSingle = await load(instance, single, seconds);
      const ofArrays = await load(instance, arrays, seconds, ARRAY_CONNECTIONS);
      // The first round does not count.
      if (round === 0) continue;
      rates.store.push(ofStore);
      rates.single.push(ofSingle.perSecond);
      rates.arrays.push(ofArrays.perSecond * ARRAY);
    }
  } finally {
    await store.close();
    await instance.stop();
  }
  return {
    name,
    store: spread(rates.store),
    single: spread(rates.single),
    singleOfStore: ratios(rates.single, rates.store),
    arrays: spread(rates.arrays),
  };
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
        columns: ['', 'single', 'of the store alone', `arrays of ${ARRAY}`],
        rows: figures.map(({ name, single, singleOfStore, arrays }) => [
          name,
          whole(single.median),
          ratio(singleOfStore),
          whole(arrays.median),
        ]),
      },
    ],
    verdicts: figures.flatMap(({ name, singleOfStore, arrays }) => [
      atLeast(
        TARGETS.intake.singleOfStore,
        singleOfStore.median,
        `intake, ${name}: single leads, of the store alone`,
      ),
      atLeast(
        TARGETS.intake.arraysPerSecond[name],
        arrays.median,
        `intake, ${name}: leads per second in arrays`,
      ),
    ]),
    figures: { stores: figures },
  };
}

export const intake: Section = { name: 'intake', about: 'how fast leads come in over HTTP', measure };
