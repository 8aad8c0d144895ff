import { Cleanup } from '../../cleanup.ts';
import { sinceQuery } from '../../load/newest-leads.ts';
import { pollRequest } from '../../load/requests.ts';
import type { SizeName, StoreName } from '../../made-up/growth/databases.ts';
import { firstLeadAt, HISTORY_MS, MEASURED_COMPANIES, type Shape } from '../../made-up/growth/shape.ts';
import { EVERY_PLACE, userId } from '../../made-up/organisation.ts';
import { shuffled } from '../../made-up/shuffle.ts';
import type { Bench } from '../../section.ts';
import { compareCosts } from './costs.ts';
import { loadOn, type Served, serveDatabase } from './served.ts';
import type { GrowthFigures } from './warm-polls.ts';

const SIZES_OF_HISTORY = ['medium', 'large', 'large, all companies'] as const;
const SIZES_OF_FIRST_POLLS = ['small', 'large', 'large, all companies'] as const;

/** One poll for each of so few would measure a process that has just begun. */
const fewCompanies = ({ large }: Readonly<Record<SizeName, Served>>): boolean =>
  large.database.shape.companies < 2000;

/** Times in the first four fifths of all history, each another one, and others for every round. */
function longAgo(shape: Shape, count: number, round: number): string[] {
  const first = firstLeadAt(shape, Date.now()) + round;
  const at = (n: number) => Math.round(first + (n / count) * 0.8 * HISTORY_MS);
  return shuffled(Array.from({ length: count }, (_, n) => sinceQuery(at(n))));
}

/** A user of each of the companies around those that are measured, of every place by turns. */
const usersAround = ({ companies }: Shape, most: number): string[] =>
  Array.from({ length: Math.min(most, companies - MEASURED_COMPANIES) }, (_, n) =>
    userId(MEASURED_COMPANIES + n, n % EVERY_PLACE.length),
  );

/** Pages of the past, which no memory holds: every one is read from the database. */
export async function measureHistory(
  bench: Bench,
  store: StoreName,
  served: Readonly<Record<SizeName, Served>>,
): Promise<GrowthFigures[]> {
  const { rounds, quick } = bench.options;
  bench.progress(`${store}: pages of the past`);
  const sizes = fewCompanies(served) ? SIZES_OF_HISTORY.slice(0, 2) : SIZES_OF_HISTORY;
  const servedAs = (size: (typeof sizes)[number]) => (size === 'medium' ? served.medium : served.large);
  const everyone = sizes.map((size) => {
    const { users, database, tokenOf } = servedAs(size);
    if (size !== 'large, all companies') return users.map(({ token }) => token);
    return usersAround(database.shape, users.length).map(tokenOf);
  });
  let round = 0;
  const costs = await compareCosts(sizes, { rounds, warmUp: true }, async (size) => {
    const { database, service } = servedAs(size);
    const tokens = everyone[sizes.indexOf(size)] ?? [];
    round += 1;
    const queries = longAgo(database.shape, tokens.length, round);
    const requests = shuffled(tokens).map((token, n) => pollRequest(token, queries[n] ?? ''));
    await bench.generator.learn({ name: 'history', requests });
    service.emptyLog();
    return bench.generator.closedLoop(loadOn(servedAs(size), 'history'), {
      seconds: quick ? 0.2 : 1,
      answersEach: 1,
    });
  });
  return [{ store, kind: 'history', level: 'all', ...costs }];
}

/** The first poll of every user after a start: the token is verified, the user read, and the newest leads of the feed. */
export async function measureFirstPolls(
  bench: Bench,
  store: StoreName,
  served: Readonly<Record<SizeName, Served>>,
): Promise<GrowthFigures[]> {
  const { quick } = bench.options;
  bench.progress(`${store}: first polls after a start`);
  const sizes = fewCompanies(served) ? SIZES_OF_FIRST_POLLS.slice(0, 2) : SIZES_OF_FIRST_POLLS;
  const costs = await compareCosts(sizes, { rounds: quick ? 1 : 3, warmUp: false }, async (size) => {
    const { database, users, tokenOf } = size === 'small' ? served.small : served.large;
    const requests =
      size === 'large, all companies'
        ? usersAround(database.shape, users.length).map((id) =>
            pollRequest(tokenOf(id), sinceQuery(Date.now())),
          )
        : users.map(({ token, newest }) => pollRequest(token, newest.empty));
    const cleanup = new Cleanup();
    bench.cleanup.add(() => cleanup.run());
    try {
      const again = await serveDatabase(database, cleanup);
      await bench.generator.learn({ name: 'first polls', requests: shuffled(requests) });
      return await bench.generator.once(loadOn(again, 'first polls'));
    } finally {
      await cleanup.run();
    }
  });
  return [{ store, kind: 'first poll', level: 'all', ...costs }];
}
