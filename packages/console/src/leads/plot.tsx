import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { now } from '../clock.ts';
import { hasOlder, leads } from '../feed.ts';
import { formatShort } from '../time.tsx';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const BAR_WIDTH = 5;
const HEIGHT = 24;

const currentHour = computed(() => Math.floor(now.value / HOUR_MS));

/** Leads per hour, the current hour last. Undefined for hours of which not all leads are loaded. */
const counts = computed((): (number | undefined)[] => {
  const firstHour = currentHour.value - HOURS + 1;
  const hours = leads.value.map(({ createdAt }) => Math.floor(Date.parse(createdAt) / HOUR_MS));
  const oldestLoaded = hasOlder.value ? (hours.at(-1) ?? 0) : 0;
  const perHour = Array.from({ length: HOURS }, (_, index): number | undefined =>
    firstHour + index < oldestLoaded ? undefined : 0,
  );
  for (const hour of hours) {
    const index = Math.min(hour - firstHour, HOURS - 1);
    if (index >= 0) perHour[index] = (perHour[index] ?? 0) + 1;
  }
  return perHour;
});

/** A small plot of the leads per hour, in the last 24 hours. */
export function Plot(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  const highest = Math.max(1, ...counts.value.map((count) => count ?? 0));
  const title = describe(counts.value, highest);
  return (
    <figure class="plot" title={title}>
      <svg viewBox={`0 0 ${HOURS * BAR_WIDTH} ${HEIGHT}`} role="img" aria-label={title}>
        {counts.value.map((count, index) => {
          if (count === undefined) return null;
          const height = count === 0 ? 1 : 2 + (count / highest) * (HEIGHT - 2);
          const [x, y] = [index * BAR_WIDTH, HEIGHT - height];
          return <rect key={x} x={x} y={y} width={BAR_WIDTH - 1} height={height} />;
        })}
      </svg>
      <figcaption aria-hidden="true">24 h</figcaption>
    </figure>
  );
}

function describe(perHour: readonly (number | undefined)[], highest: number): string {
  const total = perHour.reduce((sum: number, count) => sum + (count ?? 0), 0);
  const unknown = perHour.filter((count) => count === undefined).length;
  const start = unknown === 0 ? 'in the last 24 hours' : `loaded since ${formatShort(startOf(unknown))}`;
  return `Leads per hour: ${total} ${start}, at most ${highest} in one hour`;
}

const startOf = (index: number): number => (currentHour.value - HOURS + 1 + index) * HOUR_MS;
