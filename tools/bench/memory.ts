import type { Bench, Result, Section } from './bench.ts';
import { COMPANIES } from './contestants.ts';
import { NEWEST, pollRequest, sinceQuery, userId } from './data.ts';
import { atMost, micros, spread, whole } from './report.ts';
import { memoryMb, serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, writeRequests } from './wrk.ts';

const ACTIVE_USERS = 100_000;
/** One request in so many is for a page, of more pages than the cache holds. */
const ONE_PAGE_IN = 100;

async function measureStore(bench: Bench, store: 'sqlite' | 'postgres') {
  const dataset = await bench.pollData(bench.checkout);
  const instance = bench.cleanup.own(await serve(dataset[store]));
  const startMb = memoryMb(instance.pid, 'VmRSS');
  const empty = sinceQuery(Date.now());
  const users = bench.options.quick ? ACTIVE_USERS / 10 : ACTIVE_USERS;
  const requests = writeRequests(
    `${bench.folder}/requests-memory`,
    Array.from({ length: users }, (_, n) => {
      const token = dataset.tokens.get(userId(n % COMPANIES, Math.floor(n / COMPANIES))) ?? '';
      return pollRequest(token, n % ONE_PAGE_IN === 0 ? NEWEST : empty);
    }),
  );
  const costs: number[] = [];
  // Twice each: first polls, then polls of users whose accounts are cached.
  for (let polled = 0; polled < 2 * users; ) {
    const { perSecond, micros: cost } = await load(instance, requests, bench.options.seconds);
    polled += perSecond * bench.options.seconds;
    costs.push(cost);
  }
  const peakMb = memoryMb(instance.pid, 'VmHWM');
  await instance.stop();
  bench.progress(`memory: ${store}: ${whole(peakMb)} MB`);
  return { store, users, startMb, peakMb, micros: spread(costs) };
}

async function measure(bench: Bench): Promise<Result> {
  const figures = [await measureStore(bench, 'sqlite'), await measureStore(bench, 'postgres')];
  return {
    tables: [
      {
        title: `Memory of the instance (RSS) with ${whole(figures[0]?.users ?? 0)} active users`,
        columns: ['', 'after the start', 'highest under load', 'a poll'],
        rows: figures.map(({ store, startMb, peakMb, micros: cost }) => [
          store,
          `${whole(startMb)} MB`,
          `${whole(peakMb)} MB`,
          micros(cost.median),
        ]),
      },
    ],
    verdicts: figures.map(({ store, peakMb }) =>
      atMost(
        TARGETS.memoryMb,
        peakMb,
        `memory, ${store}: MB with ${whole(figures[0]?.users ?? 0)} active users`,
      ),
    ),
    figures: { stores: figures },
  };
}

export const memory: Section = { name: 'memory', about: 'memory with 100,000 active users', measure };
