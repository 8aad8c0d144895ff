import { isUtf8 } from 'node:buffer';
import { withoutByteOrderMark } from './byte-order-mark.ts';
import { cellsOf } from './csv-cells.ts';
import { CsvColumns, checkHeader, HeaderError } from './csv-columns.ts';
import { type CsvRow, CsvRows } from './csv-rows.ts';
import type { IntakeRules } from './fields.ts';
import { type LeadReader, leadReader } from './lead-reader.ts';
import { type InputLine, NOT_UTF8, type ParsedLine, TOO_LONG, unreadable } from './line.ts';
import { isBlank, LineSplitter } from './line-splitter.ts';
import { ValidationIssue } from './validation-issue.ts';

const NO_HEADER =
  'The file is empty. Its first line must name the columns, such as companyId,firstName,email';

/** The text of the row, or why it cannot be read at all. */
function textOf({ raw, broken }: CsvRow): Buffer | ValidationIssue {
  if (broken !== undefined) return broken;
  if (raw === undefined) return new ValidationIssue(TOO_LONG);
  return isUtf8(raw) ? raw : new ValidationIssue(NOT_UTF8);
}

function cellsOfAll(rows: readonly CsvRow[]): (readonly string[] | ValidationIssue)[] {
  const texts = rows.map(textOf);
  const cells = cellsOf(texts.filter((text) => Buffer.isBuffer(text)));
  let next = 0;
  return texts.map((text) => (text instanceof ValidationIssue ? text : (cells[next++] ?? [])));
}

/** A quote may have taken in lines that were meant as rows: say which. */
const rejected = (row: InputLine, issue: string): ParsedLine =>
  unreadable(
    row,
    row.lastNumber === row.number ? issue : `${issue} (the row goes on to line ${row.lastNumber})`,
  );

class CsvTable {
  readonly #columns: CsvColumns;
  readonly #read: LeadReader;

  constructor(header: CsvRow, rules: IntakeRules) {
    const [names = []] = cellsOfAll([header]);
    if (names instanceof ValidationIssue) throw new HeaderError(`It ${names.text}.`);
    checkHeader(names, rules);
    this.#columns = new CsvColumns(names);
    this.#read = leadReader(rules);
  }

  parse(rows: readonly CsvRow[]): ParsedLine[] {
    const cells = cellsOfAll(rows);
    return rows.map((row, index) => this.#parseRow(row, cells[index] ?? []));
  }

  #parseRow(row: InputLine, cells: readonly string[] | ValidationIssue): ParsedLine {
    if (cells instanceof ValidationIssue) return rejected(row, cells.text);
    const width = this.#columns.count;
    if (cells.length !== width)
      return rejected(
        row,
        `has ${cells.length} cells, but the header has ${width}; put cells with a comma in quotes`,
      );
    const { number, lastNumber, raw } = row;
    return { number, lastNumber, raw, reading: this.#read(this.#columns.record(cells)) };
  }
}

export interface CsvOptions {
  readonly skipLines: number;
  /** Called with the header row as it stood. */
  readonly onHeader: (raw: Buffer) => void;
}

/**
 * Reads one lead a row, a chunk at a time. Rows that begin in the first `skipLines` lines are left out, but the header is read. Throws
 * `HeaderError` before the first row when the header cannot be used.
 */
export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  rules: IntakeRules,
  { skipLines, onHeader }: CsvOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const splitter = new LineSplitter();
  const joiner = new CsvRows();
  let table: CsvTable | undefined;
  const parsed = (all: readonly CsvRow[]): ParsedLine[] => {
    const rows = all.filter((row) => !isBlank(row));
    if (table === undefined) {
      const header = rows.shift();
      if (header === undefined) return [];
      table = new CsvTable(header, rules);
      onHeader(header.raw ?? Buffer.alloc(0));
    }
    return table.parse(rows.filter((row) => row.number > skipLines));
  };
  for await (const chunk of withoutByteOrderMark(bytes)) yield parsed(joiner.push(splitter.push(chunk)));
  yield parsed([...joiner.push(splitter.end()), ...joiner.end()]);
  if (table === undefined) throw new HeaderError(NO_HEADER);
}
