import { atMost, BARS } from '../bars.ts';
import { LoadGenerator } from '../load/load-generator.ts';
import { sinceQuery } from '../load/newest-leads.ts';
import { pollRequest } from '../load/requests.ts';
import type { GrowthDatabase, StoreName } from '../made-up/growth/databases.ts';
import { MEASURED_COMPANIES, MEASURED_USERS, usersIn } from '../made-up/growth/shape.ts';
import { userId } from '../made-up/organisation.ts';
import { micros, whole } from '../report/figures.ts';
import type { Bench, Section, SectionResult } from '../section.ts';
import { memoryOf } from '../service/memory.ts';
import { costOf } from './growth/costs.ts';
import { loadOn, serveDatabase } from './growth/served.ts';

interface MemoryFigures {
  readonly store: StoreName;
  readonly users: number;
  /** Processor time a poll of the service and its database, while every poll is by another user. */
  readonly microsAPoll: number;
  readonly startMb: number;
  /** The highest while 100,000 users were active. */
  readonly activeMb: number;
  readonly afterUsersMb: number;
  readonly peakMb: number;
}

/** So many users at a time: their requests are all made beforehand. */
const CHUNK = 50_000;
/** The users who are active at first: they poll, and poll again as fast as it goes. */
const ACTIVE_USERS = 100_000;
/** One user in so many asks for a page, the others for what is new: far more pages than the service may remember. */
const ONE_FULL_IN = 100;

function* everyUser({ shape }: GrowthDatabase): Generator<string> {
  for (let company = 0; company < shape.companies; company += 1) {
    const users = company < MEASURED_COMPANIES ? MEASURED_USERS : shape.usersOfOthers;
    for (let n = 0; n < users; n += 1) yield userId(company, n);
  }
}

function* chunksOf<T>(values: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const value of values) {
    chunk.push(value);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** The active users poll once and then as fast as it goes; every other user polls once. */
async function measureStore(bench: Bench, store: StoreName): Promise<MemoryFigures> {
  const database = (await bench.databases())[store].large;
  const generator = bench.cleanup.own(new LoadGenerator());
  const served = await serveDatabase(database, bench.cleanup);
  const { pid } = served.service;
  const startMb = memoryOf(pid).rssMb;
  const users = usersIn(database.shape);
  let done = 0;
  let spentMicros = 0;
  let activeMb = 0;
  for (const ids of chunksOf(everyUser(database), CHUNK)) {
    const since = sinceQuery(Date.now());
    const requests = ids.map((id, n) =>
      pollRequest(served.tokenOf(id), n % ONE_FULL_IN === 0 ? '?limit=100' : since),
    );
    await generator.learn({ name: 'users', requests });
    spentMicros += costOf(await generator.once(loadOn(served, 'users'))) * ids.length;
    served.service.emptyLog();
    done += ids.length;
    if (done <= ACTIVE_USERS) {
      await generator.closedLoop(loadOn(served, 'users'), { seconds: bench.options.quick ? 1 : 8 });
      activeMb = memoryOf(pid).peakMb;
    }
    bench.progress(
      `${store}: ${whole(done)} of ${whole(users)} users have polled, ${whole(memoryOf(pid).rssMb)} MB`,
    );
  }
  const { rssMb: afterUsersMb, peakMb } = memoryOf(pid);
  const microsAPoll = spentMicros / users;
  return { store, users, microsAPoll, startMb, activeMb, afterUsersMb, peakMb };
}

async function measure(bench: Bench): Promise<SectionResult> {
  // Beside each other: memory does not mind who else is working.
  const figures = await Promise.all([measureStore(bench, 'sqlite'), measureStore(bench, 'postgres')]);
  return {
    tables: [
      {
        title: `Memory of the service (RSS, MB) with ${whole(figures[0].users)} users`,
        columns: ['', 'after the start', '100,000 active', 'all have polled', 'highest', 'a poll cost'],
        rows: figures.map(({ store, startMb, activeMb, afterUsersMb, peakMb, microsAPoll }) => [
          store,
          ...[startMb, activeMb, afterUsersMb, peakMb].map(whole),
          micros(microsAPoll),
        ]),
        note: 'The cost is the processor time of the service and its database while every poll is by another user: none is cached.',
      },
    ],
    verdicts: figures.map(({ store, activeMb }) =>
      atMost(BARS.memoryMb, activeMb, `memory, ${store}: MB at the highest, 100,000 active users`),
    ),
    figures: { stores: figures },
  };
}

export const memory: Section = {
  name: 'memory',
  about: 'the memory of the service after polls by every user, and under full load',
  measure,
};
