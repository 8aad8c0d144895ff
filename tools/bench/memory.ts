import { type Bench, measureStores, type Result, type Section } from './bench.ts';
import { COMPANIES, STORES } from './contestants.ts';
import { NEWEST, pollRequest, sinceQuery, userId } from './data.ts';
import { atMost, whole } from './report.ts';
import { type Checkout, memoryMb, serve } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, writeRequests } from './wrk.ts';

const ACTIVE_USERS = 100_000;
/** One request in so many is for a page, of more pages than the cache holds. */
const ONE_PAGE_IN = 100;

async function measureStore(bench: Bench, checkout: Checkout, store: 'sqlite' | 'postgres') {
  const dataset = await bench.pollData(checkout);
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
  // Twice each: first polls, then polls of users whose accounts are cached.
  for (let polled = 0; polled < 2 * users; ) {
    const { perSecond } = await load(instance, requests, bench.options.seconds);
    polled += perSecond * bench.options.seconds;
  }
  const peakMb = memoryMb(instance.pid, 'VmHWM');
  await instance.stop();
  bench.progress(`memory: ${store}: ${whole(peakMb)} MB`);
  return { checkout: checkout.name, store, users, startMb, peakMb };
}

async function measure(bench: Bench): Promise<Result> {
  const figures: Awaited<ReturnType<typeof measureStore>>[] = [];
  for (const checkout of bench.checkouts)
    figures.push(...(await measureStores(bench, (store) => measureStore(bench, checkout, store))));
  const users = whole(figures[0]?.users ?? 0);
  return {
    tables: [
      {
        title: `How much memory do ${users} active users need?`,
        isDetail: true,
        columns: ['', 'after the start', 'highest under load'],
        rows: figures.map(({ checkout, store, startMb, peakMb }) => [
          `Leadtap, ${STORES[store]}${checkout === bench.checkout.name ? '' : `, ${checkout} checkout`}`,
          `${whole(startMb)} MB`,
          `${whole(peakMb)} MB`,
        ]),
      },
    ],
    verdicts: figures
      .filter(({ checkout }) => checkout === bench.checkout.name)
      .map(({ store, peakMb }) =>
        atMost(TARGETS.memoryMb, peakMb, `memory, ${store}: MB with ${users} active users`),
      ),
    figures,
  };
}

export const memory: Section = {
  name: 'memory',
  about: 'memory with 100,000 active users',
  isComparison: true,
  measure,
};
