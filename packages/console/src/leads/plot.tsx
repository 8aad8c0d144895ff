import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { now } from '../clock.ts';
import { HOUR_MS, COUNTED_HOURS as HOURS, hourCounts, loadedFrom } from '../feed.ts';

const BAR_WIDTH = 5;
const HEIGHT = 24;

const currentHour = computed(() => Math.floor(now.value / HOUR_MS));

/** Leads per hour, the current hour last. Undefined while not all leads of these hours are loaded. */
const counts = computed((): readonly number[] | undefined => {
  const first = currentHour.value - HOURS + 1;
  if (first * HOUR_MS < loadedFrom.value) return undefined;
  const countOf = (hour: number) => hourCounts.value.get(hour) ?? 0;
  return Array.from({ length: HOURS }, (_, index) =>
    // Many leads at once are stamped ahead of the clock.
    index === HOURS - 1 ? countOf(first + index) + countOf(first + index + 1) : countOf(first + index),
  );
});

/** A small plot of the leads per hour, in the last 24 hours. A part of them, or a single lead, would say nothing. */
export function Plot(): JSX.Element | null {
  const total = counts.value?.reduce((sum, count) => sum + count, 0) ?? 0;
  if (!counts.value || total < 2) return null;
  const highest = Math.max(...counts.value);
  const title = `Leads per hour: ${total} in the last 24 hours, at most ${highest} in one hour`;
  return (
    <figure class="plot" title={title}>
      <svg viewBox={`0 0 ${HOURS * BAR_WIDTH} ${HEIGHT}`} role="img" aria-label={title}>
        {counts.value.map((count, index) => {
          const height = count === 0 ? 1 : 2 + (count / highest) * (HEIGHT - 2);
          const [x, y] = [index * BAR_WIDTH, HEIGHT - height];
          return <rect key={x} x={x} y={y} width={BAR_WIDTH - 1} height={height} />;
        })}
      </svg>
      <figcaption aria-hidden="true">24 h</figcaption>
    </figure>
  );
}
