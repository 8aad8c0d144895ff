import type { Verdict } from '../bars.ts';
import { ratio } from './figures.ts';
import type { Table } from './table.ts';

export const verdictTable = (verdicts: readonly Verdict[]): Table => ({
  title: 'The bars',
  columns: ['', 'bar', 'measured', ''],
  rows: verdicts.map(({ figure, rule, bar, value, met }) => [
    figure,
    `${rule} ${bar.toLocaleString('en')}`,
    value >= 1000 ? Math.round(value).toLocaleString('en') : ratio(value),
    met ? 'met' : 'MISSED',
  ]),
});
