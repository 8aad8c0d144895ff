import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { now } from '../clock.ts';
import { HOUR_MS, COUNTED_HOURS as HOURS, hourCounts, leads, loadedFrom } from '../feed.ts';
import { formatShort } from '../time.tsx';

const BAR_WIDTH = 5;
const HEIGHT = 24;

const currentHour = computed(() => Math.floor(now.value / HOUR_MS));

/** Leads per hour, the current hour last. Undefined for hours of which not all leads were loaded. */
const counts = computed((): (number | undefined)[] =>
  Array.from({ length: HOURS }, (_, index): number | undefined => {
    const hour = currentHour.value - HOURS + 1 + index;
    if (hour * HOUR_MS < loadedFrom.value) return undefined;
    const countOf = (of: number) => hourCounts.value.get(of) ?? 0;
    // Many leads at once are stamped ahead of the clock.
    return countOf(hour) + (index === HOURS - 1 ? countOf(hour + 1) : 0);
  }),
);

/** A small plot of the leads per hour, in the last 24 hours. */
export function Plot(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  const known = counts.value.filter((count) => count !== undefined);
  const highest = Math.max(1, ...known);
  const title = describe(known, highest);
  return (
    <figure class="plot" title={title}>
      <svg viewBox={`0 0 ${HOURS * BAR_WIDTH} ${HEIGHT}`} role="img" aria-label={title}>
        {counts.value.map((count, index) => {
          const height = count === 0 ? 1 : 2 + ((count ?? highest) / highest) * (HEIGHT - 2);
          const [x, y] = [index * BAR_WIDTH, HEIGHT - height];
          const opacity = count === undefined ? 0.15 : 1;
          return <rect key={x} x={x} y={y} width={BAR_WIDTH - 1} height={height} opacity={opacity} />;
        })}
      </svg>
      <figcaption aria-hidden="true">{known.length === HOURS ? '' : `${known.length} of `}24 h</figcaption>
    </figure>
  );
}

function describe(known: readonly number[], highest: number): string {
  const total = known.reduce((sum, count) => sum + count, 0);
  if (known.length === HOURS)
    return `Leads per hour: ${total} in the last 24 hours, at most ${highest} in one hour`;
  const start = formatShort((currentHour.value + 1 - known.length) * HOUR_MS);
  const counted = known.length === 0 ? '' : `${total} since ${start}, at most ${highest} in one hour. `;
  return `Leads per hour: ${counted}Earlier hours are not counted: they have too many leads`;
}
