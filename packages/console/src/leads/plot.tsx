import type { JSX } from 'preact';
import { leads } from '../feed.ts';
import { now } from '../time.tsx';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const BAR_WIDTH = 5;
const HEIGHT = 24;

/** Leads per hour of the last 24 hours, the current hour at the right. */
export function leadsPerHour(times: readonly number[], at: number): number[] {
  const counts = new Array<number>(HOURS).fill(0);
  const currentHour = Math.floor(at / HOUR_MS);
  for (const time of times) {
    const index = HOURS - 1 - (currentHour - Math.floor(time / HOUR_MS));
    if (index >= 0 && index < HOURS) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

export function Plot(): JSX.Element | null {
  if (leads.value.length === 0) return null;
  const counts = leadsPerHour(
    leads.value.map(({ createdAt }) => Date.parse(createdAt)),
    now.value,
  );
  const highest = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const title = `${total} of the loaded leads are of the last 24 hours, ${highest} in the busiest hour`;
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${HOURS * BAR_WIDTH} ${HEIGHT}`}
      width={HOURS * BAR_WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={title}
    >
      <title>{title}</title>
      {counts.map((count, index) => {
        const height = count === 0 ? 1 : 2 + (count / highest) * (HEIGHT - 2);
        return (
          <rect key={index} x={index * BAR_WIDTH} y={HEIGHT - height} width={BAR_WIDTH - 1} height={height} />
        );
      })}
    </svg>
  );
}
