import { unescapeFormula } from '@leadtap/contract';
import { InvalidValue } from '../leads/field-readers.ts';
import { objectFromTexts, parseLead, withCompany } from '../leads/parse-lead.ts';
import { BAD_HEADER, fieldsOfColumns } from './csv-header.ts';
import {
  type CsvDialect,
  type CsvRow,
  CsvRowJoiner,
  isSeparatorLine,
  parseCells,
  recogniseSeparator,
  SEPARATOR_NAMES,
} from './csv-rows.ts';
import { LineDecoder } from './encoding.ts';
import {
  isBlank,
  LineSplitter,
  type ParsedLine,
  type ReadOptions,
  rejectLine,
  type Separator,
  UnusableFileError,
} from './input-line.ts';

/** The field of each column; undefined if it is ignored. */
type Fields = readonly (string | undefined)[];

/** The rows that show what the cells of a column are. */
const MAX_SAMPLE_ROWS = 200;

function parseHeader(
  header: CsvRow,
  rows: readonly CsvRow[],
  dialect: CsvDialect,
  options: ReadOptions,
): Fields {
  const [columns = []] = parseCells([header], dialect);
  if (columns instanceof InvalidValue) throw new UnusableFileError(BAD_HEADER, `It ${columns.detail}.`);
  if (columns.length === 1 && columns[0]?.includes('|'))
    throw new UnusableFileError(
      BAD_HEADER,
      `Its columns are separated by "|". Replace it by tabs: tr '|' '\\t' < FILE > leads.tsv`,
    );
  const likely = recogniseSeparator(columns[0] ?? '');
  if (columns.length === 1 && columns[0]?.includes(likely) && likely !== dialect.separator)
    throw new UnusableFileError(
      BAD_HEADER,
      `Its columns are separated by ${SEPARATOR_NAMES[likely]}s, not by ${SEPARATOR_NAMES[dialect.separator]}s. Leave --separator out.`,
    );
  const sample = parseCells(rows.slice(0, MAX_SAMPLE_ROWS), dialect).filter(
    (cells): cells is readonly string[] =>
      !(cells instanceof InvalidValue) && cells.length === columns.length,
  );
  return fieldsOfColumns(columns, sample, { ...options, separator: dialect.separator });
}

/** Other programs write `="01067"`, so that spreadsheets do not read a number. */
const TEXT_FORMULA = /^="([^"]*)"$/;
const textOfCell = (cell: string): string => TEXT_FORMULA.exec(cell)?.[1] ?? unescapeFormula(cell);

/** An unclosed quote may have made several rows one: say how far it reaches. */
function rejectRow(row: CsvRow, detail: string): ParsedLine {
  const isOneLine = row.lastNumber === row.number;
  return rejectLine(row, isOneLine ? detail : `${detail} (the row continues to line ${row.lastNumber})`);
}

function wrongCount(cells: number, columns: number, separator: Separator): string {
  const fix =
    cells > columns
      ? `put cells with a ${SEPARATOR_NAMES[separator]} in quotes`
      : 'add the missing cells, or delete the line if it is the footer of a report';
  return `has ${cells === 1 ? '1 cell' : `${cells} cells`}, but the header has ${columns}; ${fix}`;
}

function parseRows(
  rows: readonly CsvRow[],
  fields: Fields,
  dialect: CsvDialect,
  options: ReadOptions,
): ParsedLine[] {
  const cellsOfRows = parseCells(rows, dialect);
  return rows.flatMap((row, index) => {
    const cells = cellsOfRows[index] ?? [];
    if (cells instanceof InvalidValue) return [rejectRow(row, cells.detail)];
    if (cells.every((cell) => cell === '')) {
      options.onEmptyRow();
      return [];
    }
    if (cells.length !== fields.length)
      return [rejectRow(row, wrongCount(cells.length, fields.length, dialect.separator))];
    const object = withCompany(objectFromTexts(fields, cells.map(textOfCell)), options.companyId);
    return [{ ...row, parsed: parseLead(object, options) }];
  });
}

/**
 * Reads one lead per row, a chunk at a time. Rows that begin in the first `skipLines` lines are left out, but the header is
 * read. Throws `UnusableFileError` before the first row if the header cannot be used.
 */
export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const { encoding, separator = ',', onRecognised } = options;
  const onWindows1252 = (line: CsvRow) => onRecognised?.({ encoding: 'windows-1252', line });
  const dialect = { separator, decoder: new LineDecoder({ encoding, onWindows1252 }) };
  const splitter = new LineSplitter();
  const joiner = new CsvRowJoiner(separator);
  let fields: Fields | undefined;
  /** The header, until the rows after it show what its columns contain. */
  let start: CsvRow[] = [];
  const parse = (all: readonly CsvRow[], isEnd = false): ParsedLine[] => {
    let rows = all.filter((row) => !isBlank(row) && (fields !== undefined || !isSeparatorLine(row)));
    if (fields === undefined) {
      start.push(...rows);
      const [header, ...others] = start;
      if (header === undefined || (others.length === 0 && !isEnd)) return [];
      fields = parseHeader(header, others, dialect, options);
      options.onHeader(header.raw ?? Buffer.alloc(0));
      rows = others;
      start = [];
    }
    const wanted = rows.filter((row) => row.number > options.skipLines);
    return parseRows(wanted, fields, dialect, options);
  };
  for await (const chunk of bytes) yield parse(joiner.push(splitter.push(chunk)));
  yield parse([...joiner.push(splitter.end()), ...joiner.end()], true);
  if (fields === undefined)
    throw new UnusableFileError(
      'is empty',
      'Its first line must name the columns, such as companyId,firstName,email',
    );
}
