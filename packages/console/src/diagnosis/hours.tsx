import type { JSX } from 'preact';
import { formatCount } from '../text.tsx';
import { formatHour } from '../time.tsx';

/** What happened in an hour. Null: it is not known. */
export type Hour = { readonly leads: number; readonly failed: number } | null;

const HOUR_MS = 3_600_000;
/** The height of the cell of an hour with one lead, of many. */
const MIN_HEIGHT = 0.35;

interface HoursProps {
  /** The last one is the hour of `now`. */
  readonly hours: readonly Hour[];
  readonly now: number;
}

/** A cell for each of the last 24 hours, and one sentence for all of them. */
export function Hours({ hours, now }: HoursProps): JSX.Element {
  const highest = Math.max(...hours.map((hour) => hour?.leads ?? 0));
  const first = Math.floor(now / HOUR_MS) - hours.length + 1;
  return (
    <span class="hours" role="img" aria-label={`Last 24 hours: ${describeAll(hours)}`}>
      {hours.map((hour, index) => {
        const kind = hour === null ? 'unknown' : hour.failed > 0 ? 'failed' : hour.leads > 0 ? 'leads' : '';
        const share = kind === 'leads' ? MIN_HEIGHT + ((1 - MIN_HEIGHT) * (hour?.leads ?? 0)) / highest : '';
        return (
          <i
            key={first + index}
            class={kind}
            style={{ '--share': share }}
            title={`${formatHour((first + index) * HOUR_MS)}: ${describe(hour)}`}
          />
        );
      })}
    </span>
  );
}

function describe(hour: Hour): string {
  if (!hour) return 'not known';
  const leads = hour.leads > 0 ? [formatCount(hour.leads)] : [];
  const failures = hour.failed > 0 ? [formatCount(hour.failed, 'failure')] : [];
  return [...leads, ...failures].join(', ') || 'nothing';
}

/** `41 leads, 2 failures in 1 hour, not known for 3 hours` */
function describeAll(hours: readonly Hour[]): string {
  const known = hours.filter((hour) => hour !== null);
  const sum = (field: 'leads' | 'failed') => known.reduce((total, hour) => total + hour[field], 0);
  const failedHours = known.filter(({ failed }) => failed > 0).length;
  const unknownHours = hours.length - known.length;
  return [
    known.length > 0 ? formatCount(sum('leads')) : '',
    failedHours > 0 ? `${formatCount(sum('failed'), 'failure')} in ${formatCount(failedHours, 'hour')}` : '',
    unknownHours > 0 ? `not known for ${formatCount(unknownHours, 'hour')}` : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** What the cells mean. */
export const HoursLegend = (): JSX.Element => (
  <span class="legend" aria-hidden="true">
    Last 24 hours:
    {LEGEND.map(([kind, text]) => (
      <span key={kind}>
        <i class={kind} /> {text}
      </span>
    ))}
  </span>
);

const LEGEND = [
  ['leads', 'leads'],
  ['', 'nothing'],
  ['failed', 'failed'],
  ['unknown', 'not known'],
] as const;
