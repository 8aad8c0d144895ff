/**
 * Joins lines into CSV rows, and parses the cells of whole rows with csv-parse.
 *
 * csv-parse does not find the rows, because it does not recover from a broken quote: with `skip_records_with_error` it skips
 * every row after it, and with `relax_quotes` it reads them as the text of one cell. Here a broken quote costs one line, and
 * the memory for a row is limited.
 */
import { parse } from 'csv-parse/sync';
import { InvalidValue } from '../leads/field-readers.ts';
import type { LineDecoder } from './encoding.ts';
import { type InputLine, MAX_LINE_BYTES, type Separator } from './input-line.ts';

/** More line breaks than the fields of a lead have room for. Bounds the memory for lines that are nearly empty. */
const MAX_ROW_LINES = 65_536;

const FIX = 'close it at the end of the cell, and write a quote inside the cell as ""';
const NEVER_CLOSED = `opens a quote that is never closed; ${FIX}`;
const CLOSED_TOO_LATE = `opens a quote that is not closed within ${MAX_LINE_BYTES.toLocaleString('en')} bytes and ${MAX_ROW_LINES.toLocaleString('en')} lines; ${FIX}`;
const closedByMisplacedQuote = (line: number): string =>
  `opens a quote that is not closed before a misplaced quote in line ${line}; ${FIX}`;

/** A row, or the one line that opens a broken quote. */
export interface CsvRow extends InputLine {
  /** What is wrong with its quotes. */
  readonly quoteError?: InvalidValue;
}

export const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
};

const SEPARATORS: readonly Separator[] = [',', ';', '\t'];

/** Excel writes and reads this line above the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i;

export const isSeparatorLine = ({ raw }: InputLine): boolean =>
  raw !== undefined && raw.length < 10 && SEPARATOR_LINE.test(raw.toString('latin1'));

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

/** How the cells of a file are written. */
export interface CsvDialect {
  readonly separator: Separator;
  readonly decoder: LineDecoder;
}

const QUOTE = 0x22;
const CARRIAGE_RETURN = 0x0d;

const startsCell = (line: Buffer, at: number, separator: number): boolean =>
  at === 0 || line[at - 1] === separator;

const endsCell = (line: Buffer, at: number, separator: number): boolean =>
  at >= line.length || line[at] === separator || (line[at] === CARRIAGE_RETURN && at + 1 === line.length);

/** How the quotes of a line leave its row: complete, continued in the next line, or with a misplaced quote. */
type QuoteScan = 'complete' | 'continued' | InvalidValue;

const QUOTE_IN_UNQUOTED_CELL = new InvalidValue(
  'has a quote inside an unquoted cell; put the whole cell in quotes, and write the quote inside it as ""',
);
const TEXT_AFTER_QUOTE = new InvalidValue(
  'has text after a closing quote; close the quote at the end of the cell, or write a quote inside it as ""',
);

/**
 * By the rules of csv-parse, so that it finds exactly the rows, and no errors, in the lines that are complete. A quote inside an
 * unquoted cell, such as `6" pipe`, is text, as in Excel and Python; but not in a row of several lines, whose quotes are doubtful.
 */
function scanQuotes(line: Buffer, startsQuoted: boolean, separator: number): QuoteScan {
  let isQuoted = startsQuoted;
  let hasQuoteInText = false;
  for (let at = line.indexOf(QUOTE); at !== -1; at = line.indexOf(QUOTE, at + 1)) {
    if (isQuoted && line[at + 1] === QUOTE) {
      at += 1;
      continue;
    }
    if (isQuoted && !endsCell(line, at + 1, separator)) return TEXT_AFTER_QUOTE;
    if (!isQuoted && !startsCell(line, at, separator)) hasQuoteInText = true;
    else isQuoted = !isQuoted;
  }
  if (hasQuoteInText && (startsQuoted || isQuoted)) return QUOTE_IN_UNQUOTED_CELL;
  return isQuoted ? 'continued' : 'complete';
}

const LINE_FEED = Buffer.from('\n');

/**
 * Joins lines into rows, whose quoted cells may contain line breaks. If a row of several lines turns out to be broken, only
 * its first line is rejected, and each of the others is read again as the beginning of a row.
 *
 * Which of them were meant as the text of a cell cannot be known then. Reading them all as text would lose every good row
 * after one stray quote; reading them as rows means that text that has the form of a row of this table becomes a lead. The
 * text of a row that is well formed, and within the limits, is never read as rows.
 */
export class CsvRowJoiner {
  readonly #separator: number;
  /**
   * The lines of an unfinished row. All but the first have an even number of quotes, so none of them opens a quote when it is
   * read again: no file makes this read its lines more than twice.
   */
  #open: InputLine[] = [];
  /** Including line feeds. */
  #openBytes = 0;

  constructor(separator: Separator) {
    this.#separator = separator.charCodeAt(0);
  }

  push(lines: readonly InputLine[]): CsvRow[] {
    return lines.flatMap((line) => this.#add(line));
  }

  /** The rows that are left at the end of the file. */
  end(): CsvRow[] {
    return this.#rejectFirst(NEVER_CLOSED);
  }

  #add(line: InputLine): CsvRow[] {
    const isFirst = this.#open.length === 0;
    const scan = line.raw === undefined ? 'complete' : scanQuotes(line.raw, !isFirst, this.#separator);
    if (isFirst && scan !== 'continued') return [scan === 'complete' ? line : { ...line, quoteError: scan }];
    this.#open.push(line);
    this.#openBytes += (line.raw?.length ?? MAX_LINE_BYTES) + 1;
    if (this.#openBytes - 1 > MAX_LINE_BYTES || this.#open.length > MAX_ROW_LINES)
      return this.#rejectFirst(CLOSED_TOO_LATE);
    if (scan instanceof InvalidValue) return this.#rejectFirst(closedByMisplacedQuote(line.number));
    return scan === 'continued' ? [] : joinLines(this.#takeOpen());
  }

  #rejectFirst(detail: string): CsvRow[] {
    const [first, ...others] = this.#takeOpen();
    if (first === undefined) return [];
    return [{ ...first, quoteError: new InvalidValue(detail) }, ...this.push(others)];
  }

  #takeOpen(): InputLine[] {
    const lines = this.#open;
    this.#open = [];
    this.#openBytes = 0;
    return lines;
  }
}

function joinLines(lines: readonly InputLine[]): CsvRow[] {
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return [];
  const pieces = lines.flatMap(({ raw = Buffer.alloc(0) }) => [LINE_FEED, raw]);
  return [{ number: first.number, lastNumber: last.lastNumber, raw: Buffer.concat(pieces.slice(1)) }];
}

/**
 * The cells of each row, or why it has none. All rows are parsed in one call, because a call to csv-parse costs more than a
 * row: 12,000 rows a second one by one, 110,000 together.
 */
export function parseCells(
  rows: readonly CsvRow[],
  { separator, decoder }: CsvDialect,
): (readonly string[] | InvalidValue)[] {
  const texts = rows.map((row) => row.quoteError ?? decoder.decode(row));
  const valid = texts.filter((text) => typeof text === 'string');
  const cells = parse(valid.map((text) => `${text}\n`).join(''), {
    delimiter: separator,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
  });
  if (cells.length !== valid.length) throw new Error('csv-parse has split the rows differently');
  const parsed = cells.values();
  return texts.map((text) => (typeof text === 'string' ? (parsed.next().value ?? []) : text));
}
