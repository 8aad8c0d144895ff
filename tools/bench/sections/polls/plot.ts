import { ratio } from '../../report/figures.ts';
import { type Bar, renderPlot } from '../../report/plot.ts';
import { BARE, HAND_WRITTEN, titleOf } from './contestants.ts';
import type { RateFigures } from './rounds.ts';
import type { Rates } from './verdicts.ts';

const BARS = [
  { name: BARE, label: 'bare node:http', color: 'limit' },
  { name: titleOf('sqlite'), label: 'Leadtap, SQLite', color: 'ours' },
  { name: titleOf('postgres'), label: 'Leadtap, PostgreSQL', color: 'ours' },
  { name: titleOf('redis'), label: 'Leadtap, PostgreSQL, Redis', color: 'ours' },
  { name: HAND_WRITTEN, label: 'hand-written node:http, pg', color: 'other' },
] as const;

/** The picture that README shows; undefined when one of its two kinds was not measured. */
export function pollsPlot({ empty, since }: Rates): string | undefined {
  if (!empty || !since) return undefined;
  return renderPlot(
    'Polls a second, one process on one core',
    'Grey: the limit, a bare server that sends the same bytes from constants. The ratio to it stands behind each bar.',
    [
      { title: 'a poll that finds nothing new', bars: barsOf(empty) },
      { title: 'a full page of 100 leads', bars: barsOf(since) },
    ],
  );
}

const barsOf = (figures: readonly RateFigures[]): Bar[] =>
  BARS.map(({ name, label, color }) => {
    const figure = figures.find(({ contestant }) => contestant === name);
    const value = figure?.perSecond.median ?? 0;
    return {
      label,
      value,
      color,
      note: name === BARE ? 'the limit' : `${ratio(figure?.ofBare.median)} of it`,
    };
  });
