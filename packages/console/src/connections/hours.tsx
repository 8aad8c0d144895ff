import type { ConnectionHour } from '@leadtap/contract';
import type { JSX } from 'preact';
import { formatCount } from '../text.tsx';
import { formatHour } from '../time.tsx';

type Hours = readonly ConnectionHour[];

const KINDS = { leads: 'leads', nothing: 'nothing', failed: 'failed', unknown: 'not known' } as const;

const kindOf = ({ known, failed, leads }: ConnectionHour): keyof typeof KINDS =>
  known ? (failed > 0 ? 'failed' : leads > 0 ? 'leads' : 'nothing') : 'unknown';

/** The height of the cell of an hour with one lead, of many. */
const MIN_HEIGHT = 0.35;

/** A cell for each of the last 24 hours, and one sentence for all of them. */
export function HoursBar({ hours }: { readonly hours: Hours }): JSX.Element {
  const highest = Math.max(...hours.map(({ leads }) => leads));
  return (
    <span class="hours" role="img" aria-label={`Last 24 hours: ${describeAll(hours)}`}>
      {hours.map((hour) => {
        const kind = kindOf(hour);
        const share = kind === 'leads' ? MIN_HEIGHT + ((1 - MIN_HEIGHT) * hour.leads) / highest : '';
        return (
          <i
            key={hour.at}
            class={kind}
            style={{ '--share': share }}
            title={`${formatHour(Date.parse(hour.at))}: ${describe(hour)}`}
          />
        );
      })}
    </span>
  );
}

const countsOf = ({ leads, failed }: Pick<ConnectionHour, 'leads' | 'failed'>): string =>
  [leads > 0 && formatCount(leads), failed > 0 && formatCount(failed, 'failure')].filter(Boolean).join(', ');

const describe = (hour: ConnectionHour): string =>
  hour.known ? countsOf(hour) || KINDS.nothing : KINDS.unknown;

/** `41 leads, 2 failures, not known for 3 hours` */
function describeAll(hours: Hours): string {
  const sum = (field: 'leads' | 'failed') => hours.reduce((total, hour) => total + hour[field], 0);
  const unknown = hours.filter(({ known }) => !known).length;
  const counts = countsOf({ leads: sum('leads'), failed: sum('failed') }) || '0 leads';
  return `${counts}${unknown > 0 ? `, not known for ${formatCount(unknown, 'hour')}` : ''}`;
}

/** What the cells mean. */
export const HoursLegend = (): JSX.Element => (
  <span class="legend" aria-hidden="true">
    Last 24 hours:
    {Object.entries(KINDS).map(([kind, text]) => (
      <span key={kind}>
        <i class={kind} /> {text}
      </span>
    ))}
  </span>
);
