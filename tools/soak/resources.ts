/** What the instances need while nothing happens: compared over a run, it shows leaks. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Environment } from './environment.ts';

export interface Usage {
  readonly rssMb: number;
  /** JavaScript objects and their buffers, without compiled code, after a garbage collection. */
  readonly heapMb: number;
  readonly handles: number;
  readonly databaseConnections: number;
}

/** In a trial, a connection to the database stays open for a second when it is idle. */
const MIN_READINGS = 5;
/** On a busy machine it takes longer until all connections are closed. A leak is what so many more readings do not change. */
const MAX_UNCHANGED_READINGS = 10;
const READING_EVERY_MS = 1000;
const MEBIBYTE = 1024 * 1024;
const MAX_GROWTH = 1.1;

const LABELS: Readonly<Record<keyof Usage, string>> = {
  rssMb: 'RSS, MB',
  heapMb: 'heap after garbage collection, MB',
  handles: 'open files and sockets',
  databaseConnections: 'database connections',
};
const NAMES = Object.keys(LABELS) as (keyof Usage)[];
const COUNTS = ['handles', 'databaseConnections'] as const;

/**
 * Of each instance, when all clients have disconnected. The least of several readings: background work opens a connection for a
 * moment, and a leak is in each of them. Given the usage before, it reads until the counts are no larger, or stay the same.
 */
export async function readQuietUsage(
  { installation, links }: Environment,
  before: readonly Usage[] = [],
): Promise<Usage[]> {
  for (const { to, proxy } of links) if (to === 'clients') proxy.reset();
  const databases = links.filter(({ to }) => to === 'database');
  let least: Usage[] = [];
  const hasGrown = () => compareUsage(before, least, { hasMemory: false }).length > 0;
  for (
    let done = 0, unchanged = 0;
    done < MIN_READINGS || (unchanged < MAX_UNCHANGED_READINGS && hasGrown());
    done += 1
  ) {
    const counts = countsOf(least);
    await wait(READING_EVERY_MS);
    const resources = await installation.readResources();
    least = resources.map(({ rssBytes, heapBytes, handles }, instance) => {
      const usage = {
        rssMb: rssBytes / MEBIBYTE,
        heapMb: heapBytes / MEBIBYTE,
        handles,
        databaseConnections: databases[instance]?.proxy.connections ?? 0,
      };
      return leastOf(usage, least[instance] ?? usage);
    });
    unchanged = countsOf(least) === counts ? unchanged + 1 : 0;
  }
  return least;
}

const countsOf = (usages: readonly Usage[]): string =>
  usages.flatMap((usage) => COUNTS.map((name) => usage[name])).join();

const leastOf = (a: Usage, b: Usage): Usage => ({
  rssMb: Math.min(a.rssMb, b.rssMb),
  heapMb: Math.min(a.heapMb, b.heapMb),
  handles: Math.min(a.handles, b.handles),
  databaseConnections: Math.min(a.databaseConnections, b.databaseConnections),
});

/**
 * A sentence for each figure that has grown by more than 10 %. Counts are rounded up: none or one may become two. The RSS is shown
 * and not compared: Node keeps free pages of the heap, so of instances with equal heaps one had 3 % more and one 34 %.
 */
export function compareUsage(
  first: readonly Usage[],
  last: readonly Usage[],
  { hasMemory }: { readonly hasMemory: boolean },
): string[] {
  return first.flatMap((before, instance) =>
    [...COUNTS, ...(hasMemory ? (['heapMb'] as const) : [])].flatMap((name) => {
      const after = last[instance]?.[name] ?? Number.NaN;
      const bar = MAX_GROWTH * (name === 'heapMb' ? before[name] : Math.max(1, before[name]));
      return after <= (name === 'heapMb' ? bar : Math.ceil(bar))
        ? []
        : [`instance ${instance + 1}: ${LABELS[name]}: ${round(before[name])}, then ${round(after)}`];
    }),
  );
}

export function usageFigures(first: readonly Usage[], last: readonly Usage[]): Record<string, number> {
  return Object.fromEntries(
    [first, last].flatMap((usages, index) =>
      usages.flatMap((usage, instance) =>
        NAMES.map((name) => [
          `instance ${instance + 1}, ${LABELS[name]}, ${index === 0 ? 'after the first tenth' : 'at the end'}`,
          round(usage[name]),
        ]),
      ),
    ),
  );
}

const round = (value: number): number => Math.round(10 * value) / 10;
