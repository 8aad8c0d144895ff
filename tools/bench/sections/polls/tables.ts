import { micros, millis, ratio, share, spreadOf, whole } from '../../report/figures.ts';
import type { Table } from '../../report/table.ts';
import { KINDS, type Kind } from './kinds.ts';
import type { LatencyFigures } from './latency.ts';
import type { RateFigures } from './rounds.ts';

export const rateTable = (kind: Kind, figures: readonly RateFigures[]): Table => ({
  title: KINDS[kind],
  columns: [
    '',
    'requests/s',
    'of bare',
    'by processor time',
    'of hand-written',
    'server',
    'PostgreSQL',
    'Redis',
    "server's core",
    "load's core",
    'limit',
  ],
  rows: figures.map((figure) => [
    figure.contestant,
    whole(figure.perSecond.median),
    spreadOf(figure.ofBare),
    ratio(figure.processorOfBare),
    spreadOf(figure.ofHandWritten),
    micros(figure.micros['server']),
    micros(figure.micros['postgres']),
    micros(figure.micros['redis']),
    share(figure.serverShare),
    share(figure.generatorShare),
    figure.serverBound ? 'server' : 'machine',
  ]),
  note: `${whole(figures[0]?.answerBytes)} bytes an answer. Times are processor time a request. Ratios: median (lowest-highest).`,
});

export const latencyTable = (kind: Kind, figures: readonly LatencyFigures[]): Table => ({
  title: `${KINDS[kind]}: latency at ${whole(figures[0]?.rate)} requests/s, half of what the bare server does`,
  columns: ['', 'p50', 'p99', 'p99.9', 'highest', 'p99 of bare', "server's core", "load's core"],
  rows: figures.map((figure) => [
    figure.contestant,
    ...(figure.overloaded
      ? ['cannot keep up', '', '', '', '']
      : [
          millis(figure.p50Ms),
          millis(figure.p99Ms.median),
          millis(figure.p999Ms),
          millis(figure.maxMs),
          spreadOf(figure.p99OfBare),
        ]),
    share(figure.serverShare),
    share(figure.generatorShare),
  ]),
});
