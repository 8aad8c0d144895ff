import { CsvError, parse } from 'csv-parse/sync';
import { ValidationIssue } from './validation-issue.ts';

const LINE_FEED = Buffer.from('\n');

/** What csv-parse finds wrong, and what to do about it. */
const HINTS: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'has text behind a closing quote; close the quote before it, or write a quote inside a cell as ""',
  INVALID_OPENING_QUOTE:
    'has a quote inside a bare cell; put the whole cell in quotes and write the quote inside it as ""',
};

function tryParse(rows: readonly Buffer[]): string[][] | ValidationIssue {
  const text = Buffer.concat(rows.flatMap((row) => [row, LINE_FEED]));
  try {
    const records = parse(text, { record_delimiter: ['\r\n', '\n'], relax_column_count: true });
    return records.length === rows.length ? records : new ValidationIssue('is not a row of CSV');
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return new ValidationIssue(HINTS[error.code] ?? 'is not a row of CSV');
  }
}

/**
 * The cells of each row. All rows are parsed in one go, because a call to csv-parse costs more than a row (12,000
 * rows a second one by one, 110,000 together); when one is broken, halving the rows finds it.
 */
export function cellsOf(rows: readonly Buffer[]): (string[] | ValidationIssue)[] {
  if (rows.length === 0) return [];
  const cells = tryParse(rows);
  if (!(cells instanceof ValidationIssue)) return cells;
  if (rows.length === 1) return [cells];
  const middle = rows.length >> 1;
  return [...cellsOf(rows.slice(0, middle)), ...cellsOf(rows.slice(middle))];
}
