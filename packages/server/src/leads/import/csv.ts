import { type CsvRow, CsvRowJoiner, parseCells } from './csv-rows.ts';
import { InvalidValue } from './field-readers.ts';
import { isBlank, LineSplitter, type ParsedLine, rejectLine } from './input-line.ts';
import {
  CUSTOM_FIELD_PREFIX,
  explainUnknownField,
  formatIssue,
  isImportField,
  objectFromTexts,
  type ParseOptions,
  parseLead,
  requiredFields,
  type ValidationIssue,
} from './parse-lead.ts';

/** The header row cannot be used, so no row can be read. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError';
  readonly problems: readonly string[];

  constructor(...problems: string[]) {
    super('the header row cannot be used');
    this.problems = problems;
  }
}

const EMPTY_FILE =
  'The file is empty. Its first line must name the columns, such as companyId,firstName,email';

function columnProblem(column: string, options: ParseOptions): string | undefined {
  if (column === '') return 'has no name; name it or remove it';
  if (column === 'customFields' || column === CUSTOM_FIELD_PREFIX)
    return 'give each custom field a column of its own, such as customFields.source';
  const isKnown = column.startsWith(CUSTOM_FIELD_PREFIX) || isImportField(column, options);
  return isKnown ? undefined : explainUnknownField(column);
}

function headerIssues(columns: readonly string[], options: ParseOptions): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const [index, column] of columns.entries()) {
    const field = column === '' ? `column ${index + 1}` : column;
    const detail = columnProblem(column, options);
    if (detail !== undefined) issues.push({ field, detail });
    else if (columns.indexOf(column) < index)
      issues.push({ field, detail: 'is there twice; remove one of the two columns' });
  }
  for (const field of requiredFields(options))
    if (!columns.includes(field)) issues.push({ field, detail: 'is missing; add this column' });
  return issues;
}

/** The names of the columns. Throws `HeaderError` with everything that is wrong with them. */
function parseHeader(header: CsvRow, options: ParseOptions): readonly string[] {
  const [columns = []] = parseCells([header]);
  if (columns instanceof InvalidValue) throw new HeaderError(`It ${columns.detail}.`);
  if (columns.length === 1 && /[;\t]/.test(columns.join()))
    throw new HeaderError(
      'The columns are not separated by commas. Save the file with commas between the cells.',
    );
  const issues = headerIssues(columns, options);
  if (issues.length > 0) throw new HeaderError(...issues.map(formatIssue));
  return columns;
}

/** An unclosed quote may have made several rows one: say how far it reaches. */
function rejectRow(row: CsvRow, detail: string): ParsedLine {
  const isOneLine = row.lastNumber === row.number;
  return rejectLine(row, isOneLine ? detail : `${detail} (the row continues to line ${row.lastNumber})`);
}

function parseRows(rows: readonly CsvRow[], columns: readonly string[], options: ParseOptions): ParsedLine[] {
  const cellsOfRows = parseCells(rows);
  return rows.map((row, index) => {
    const cells = cellsOfRows[index] ?? [];
    if (cells instanceof InvalidValue) return rejectRow(row, cells.detail);
    if (cells.length !== columns.length)
      return rejectRow(
        row,
        `has ${cells.length} cells, but the header has ${columns.length}; put cells with a comma in quotes`,
      );
    return { ...row, parsed: parseLead(objectFromTexts(columns, cells), options) };
  });
}

export interface CsvOptions extends ParseOptions {
  readonly skipLines: number;
  /** Called with the header row, unchanged. */
  readonly onHeader: (raw: Buffer) => void;
}

/**
 * Reads one lead per row, a chunk at a time. Rows that begin in the first `skipLines` lines are left out, but the header is
 * read. Throws `HeaderError` before the first row if the header cannot be used.
 */
export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  options: CsvOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const splitter = new LineSplitter();
  const joiner = new CsvRowJoiner();
  let columns: readonly string[] | undefined;
  const parse = (all: readonly CsvRow[]): ParsedLine[] => {
    const rows = all.filter((row) => !isBlank(row));
    if (columns === undefined) {
      const header = rows.shift();
      if (header === undefined) return [];
      columns = parseHeader(header, options);
      options.onHeader(header.raw ?? Buffer.alloc(0));
    }
    return parseRows(
      rows.filter((row) => row.number > options.skipLines),
      columns,
      options,
    );
  };
  for await (const chunk of bytes) yield parse(joiner.push(splitter.push(chunk)));
  yield parse([...joiner.push(splitter.end()), ...joiner.end()]);
  if (columns === undefined) throw new HeaderError(EMPTY_FILE);
}
