import { sinceBefore } from '../../load/newest-leads.ts';
import { pollRequest } from '../../load/requests.ts';
import { SIZES, type SizeName, type StoreName } from '../../made-up/growth/databases.ts';
import type { AccessLevel } from '../../made-up/organisation.ts';
import { shuffled } from '../../made-up/shuffle.ts';
import type { Bench } from '../../section.ts';
import { type Costs, compareCosts } from './costs.ts';
import { loadOn, type MeasuredUser, type Served } from './served.ts';

export const LEVELS: readonly AccessLevel[] = ['COMPANY', 'BRANCH', 'DEPARTMENT'];

export const QUERIES = {
  empty: ({ newest }: MeasuredUser) => newest.empty,
  newest: () => '?limit=100',
  since: ({ newest }: MeasuredUser) => sinceBefore(newest),
} as const;
export type WarmKind = keyof typeof QUERIES;

export interface GrowthFigures extends Costs {
  readonly store: StoreName;
  readonly kind: string;
  readonly level: string;
}

/** Polls by the same users, of the same companies, for pages of the same size: only what lies around them grows. */
export async function measureWarmPolls(
  bench: Bench,
  store: StoreName,
  served: Readonly<Record<SizeName, Served>>,
): Promise<GrowthFigures[]> {
  const { rounds, quick } = bench.options;
  const figures: GrowthFigures[] = [];
  await pollOnceEach(bench, store, served);
  for (const kind of Object.keys(QUERIES) as WarmKind[])
    for (const level of LEVELS) {
      bench.progress(`${store}: ${kind} polls, ${level}`);
      const setOf = (size: SizeName) => `${store} ${size} ${kind} ${level}`;
      for (const size of SIZES) {
        const users = shuffled(served[size].users.filter((user) => user.level === level));
        const requests = users.map((user) => pollRequest(user.token, QUERIES[kind](user)));
        await bench.generator.learn({ name: setOf(size), requests });
      }
      const costs = await compareCosts(SIZES, { rounds, warmUp: true }, (size) => {
        served[size].service.emptyLog();
        // No more than a user may ask in a minute.
        return bench.generator.closedLoop(loadOn(served[size], setOf(size)), {
          seconds: quick ? 0.1 : 1,
          answersEach: 2,
        });
      });
      figures.push({ store, kind, level, ...costs });
    }
  return figures;
}

/** So that every account is cached. */
async function pollOnceEach(
  bench: Bench,
  store: StoreName,
  served: Readonly<Record<SizeName, Served>>,
): Promise<void> {
  bench.progress(`${store}: every user polls once`);
  for (const size of SIZES) {
    const requests = served[size].users.map(({ token, newest }) => pollRequest(token, newest.empty));
    await bench.generator.learn({ name: 'everyone', requests });
    await bench.generator.once(loadOn(served[size], 'everyone'));
  }
}
