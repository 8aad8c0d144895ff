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
import { InvalidValue } from './field-readers.ts';
import {
  isBlank,
  LineSplitter,
  type ParsedLine,
  type ReadOptions,
  rejectLine,
  type Separator,
  UnusableFileError,
} from './input-line.ts';
import { objectFromTexts, parseLead, withCompany } from './parse-lead.ts';

/** The field of each column; undefined if it is ignored. */
type Fields = readonly (string | undefined)[];

function parseHeader(header: CsvRow, dialect: CsvDialect, options: ReadOptions): Fields {
  const [columns = []] = parseCells([header], dialect);
  if (columns instanceof InvalidValue) throw new UnusableFileError(BAD_HEADER, `It ${columns.detail}.`);
  const likely = recogniseSeparator(columns[0] ?? '');
  if (columns.length === 1 && columns[0]?.includes(likely) && likely !== dialect.separator)
    throw new UnusableFileError(
      BAD_HEADER,
      `Its columns are separated by ${SEPARATOR_NAMES[likely]}s, not by ${SEPARATOR_NAMES[dialect.separator]}s. Leave --separator out.`,
    );
  return fieldsOfColumns(columns, options);
}

/** An unclosed quote may have made several rows one: say how far it reaches. */
function rejectRow(row: CsvRow, detail: string): ParsedLine {
  const isOneLine = row.lastNumber === row.number;
  return rejectLine(row, isOneLine ? detail : `${detail} (the row continues to line ${row.lastNumber})`);
}

const wrongCount = (cells: number, columns: number, separator: Separator): string =>
  `has ${cells} cells, but the header has ${columns}; put cells with a ${SEPARATOR_NAMES[separator]} in quotes`;

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
    const object = withCompany(objectFromTexts(fields, cells), options.companyId);
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
  const parse = (all: readonly CsvRow[]): ParsedLine[] => {
    const rows = all.filter((row) => !isBlank(row) && (fields !== undefined || !isSeparatorLine(row)));
    if (fields === undefined) {
      const header = rows.shift();
      if (header === undefined) return [];
      fields = parseHeader(header, dialect, options);
      options.onHeader(header.raw ?? Buffer.alloc(0));
    }
    const wanted = rows.filter((row) => row.number > options.skipLines);
    return parseRows(wanted, fields, dialect, options);
  };
  for await (const chunk of bytes) yield parse(joiner.push(splitter.push(chunk)));
  yield parse([...joiner.push(splitter.end()), ...joiner.end()]);
  if (fields === undefined)
    throw new UnusableFileError(
      'is empty',
      'Its first line must name the columns, such as companyId,firstName,email',
    );
}
