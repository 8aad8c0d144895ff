/** Reads leads from CSV: one from each row. */
import { isAscii } from 'node:buffer';
import { unescapeFormula } from '@leadtap/contract';
import { InvalidValue } from '../leads/field-readers.ts';
import { objectFromTexts, parseLead, withCompany } from '../leads/parse-lead.ts';
import { plural } from '../lib/formats.ts';
import { BAD_HEADER, fieldsOfColumns } from './csv-header.ts';
import { type CsvRow, CsvRows } from './csv-rows.ts';
import { LineDecoder } from './encoding.ts';
import {
  isBlankLine,
  type ParsedLine,
  type ReadOptions,
  rejectLine,
  SEPARATOR_NAMES,
  type Separator,
  UnusableFileError,
} from './input-line.ts';

/** The rows that show what the cells of a column are. */
const MAX_SAMPLE_ROWS = 200;

/** Excel writes and reads this line above the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i;

const isSeparatorLine = ({ raw }: CsvRow): boolean =>
  raw !== undefined && raw.length < 10 && SEPARATOR_LINE.test(raw.toString('latin1'));

const SEPARATORS: readonly Separator[] = [',', ';', '\t'];

/** The separator that the header has most often outside of quotes. */
export function recogniseSeparator(start: string): Separator {
  const [header = ''] = start.trimStart().split(/\r?\n/);
  const named = SEPARATOR_LINE.exec(header)?.[1];
  const unquoted = header.replace(/"(?:[^"]|"")*"?/g, '');
  const count = (separator: Separator) => unquoted.split(separator).length;
  return (
    SEPARATORS.find((separator) => separator === named) ??
    SEPARATORS.reduce((best, separator) => (count(separator) > count(best) ? separator : best))
  );
}

const NOT_ASCII = /[\u0080-\u00ff]/;

/** The cells of a row, or why it has none. */
function readCells(row: CsvRow, decoder: LineDecoder): readonly string[] | InvalidValue {
  if (row.error !== undefined) return new InvalidValue(row.error);
  if (row.raw && isAscii(row.raw)) return row.cells;
  const decode = decoder.decoderOf(row);
  if (decode instanceof InvalidValue) return decode;
  return row.cells.map((cell) => (NOT_ASCII.test(cell) ? decode(Buffer.from(cell, 'latin1')) : cell));
}

/** The field of each column; undefined if it is ignored. */
type Fields = readonly (string | undefined)[];

function readHeader(
  header: CsvRow,
  rows: readonly CsvRow[],
  decoder: LineDecoder,
  options: ReadOptions,
): Fields {
  const columns = readCells(header, decoder);
  if (columns instanceof InvalidValue) throw new UnusableFileError(BAD_HEADER, `It ${columns.detail}.`);
  const sample = rows.slice(0, MAX_SAMPLE_ROWS).flatMap((row) => {
    const cells = readCells(row, decoder);
    return cells instanceof InvalidValue || cells.length !== columns.length ? [] : [cells];
  });
  const fields = fieldsOfColumns(columns, sample, options);
  options.facts.header = header.raw;
  return fields;
}

/** Other programs write `="01067"`, so that spreadsheets do not read a number. */
const TEXT_FORMULA = /^="([^"]*)"$/;
const textOfCell = (cell: string): string => TEXT_FORMULA.exec(cell)?.[1] ?? unescapeFormula(cell);

/** An unclosed quote may have made several rows one: say how far it reaches. */
const rejectRow = (row: CsvRow, detail: string): ParsedLine =>
  rejectLine(
    row,
    row.lastNumber === row.number ? detail : `${detail} (the row continues to line ${row.lastNumber})`,
  );

function wrongCount(cells: number, columns: number, separator: Separator): string {
  const fix =
    cells > columns
      ? `put cells with a ${SEPARATOR_NAMES[separator]} in quotes`
      : 'add the missing cells, or delete the line if it is the footer of a report';
  return `has ${plural(cells, 'cell')}, but the header has ${columns}; ${fix}`;
}

/** Undefined if all cells are empty. */
function parseRow(
  row: CsvRow,
  fields: Fields,
  decoder: LineDecoder,
  options: ReadOptions,
): ParsedLine | undefined {
  const cells = readCells(row, decoder);
  if (cells instanceof InvalidValue) return rejectRow(row, cells.detail);
  if (cells.every((cell) => cell === '')) return undefined;
  if (cells.length !== fields.length)
    return rejectRow(row, wrongCount(cells.length, fields.length, options.facts.separator));
  const object = withCompany(objectFromTexts(fields, cells.map(textOfCell)), options.companyId);
  const { number, lastNumber, raw } = row;
  return { number, lastNumber, raw, parsed: parseLead(object, options) };
}

/**
 * Reads one lead per row, a chunk at a time. Rows that begin in the first `skipLines` lines are left out, but the header is
 * read. Throws `UnusableFileError` before the first row if the header cannot be used.
 */
export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const { facts, skipLines } = options;
  const decoder = new LineDecoder(options);
  const rows = new CsvRows(facts.separator);
  let fields: Fields | undefined;
  /** The header, until the rows after it show what its columns contain. */
  let start: CsvRow[] = [];
  const parse = (read: readonly CsvRow[], isEnd: boolean): ParsedLine[] => {
    let leads = read.filter((row) => !isBlankLine(row) && (fields !== undefined || !isSeparatorLine(row)));
    if (fields === undefined) {
      start.push(...leads);
      const [header, ...others] = start;
      if (header === undefined || (others.length === 0 && !isEnd)) return [];
      fields = readHeader(header, others, decoder, options);
      leads = others;
      start = [];
    }
    const columns = fields;
    return leads.flatMap((row) => {
      if (row.number <= skipLines) return [];
      const lead = parseRow(row, columns, decoder, options);
      if (lead === undefined) facts.emptyRows += 1;
      return lead ?? [];
    });
  };
  for await (const chunk of bytes) yield parse(rows.push(chunk), false);
  yield parse(rows.end(), true);
  if (fields === undefined)
    throw new UnusableFileError(
      'is empty',
      'Its first line must name the columns, such as companyId,firstName,email',
    );
}
