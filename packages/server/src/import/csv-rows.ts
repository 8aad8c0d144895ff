/** Splits CSV into rows with csv-parse. */
import { CsvError, parse } from 'csv-parse/sync';
import { type InputLine, MAX_LINE_BYTES, type Separator, TOO_LONG } from './input-line.ts';

export interface CsvRow extends InputLine {
  /** Not decoded: one character for each byte. */
  readonly cells: readonly string[];
  /** Why the row cannot be read. */
  readonly error?: string | undefined;
}

const UNCLOSED =
  'opens a quote that is not closed at the end of its cell; close it there, and write a quote inside the cell as ""';
const TEXT_AFTER_QUOTE =
  'has text after a closing quote; close the quote at the end of the cell, or write a quote inside it as ""';

const LINE_FEED = 0x0a;

/**
 * Each call of `push` parses the whole lines that have arrived. What follows the last complete row is parsed again with the next
 * chunk, but never more than `MAX_LINE_BYTES`. Of a row with a broken quote, only the first line is rejected, and the lines after
 * it are read as rows: a stray quote costs one line, not the rest of the file.
 */
export class CsvRows {
  readonly #separator: Separator;
  #rest: Buffer = Buffer.alloc(0);
  #line = 1;
  /** The beginning of a line was too long and was dropped. */
  #isDropping = false;

  constructor(separator: Separator) {
    this.#separator = separator;
  }

  push(chunk: Buffer): CsvRow[] {
    return this.#read(Buffer.concat([this.#rest, chunk]), false);
  }

  /** The rows that are left at the end of the file. */
  end(): CsvRow[] {
    const isLineOpen = this.#rest.length > 0 || this.#isDropping;
    return this.#read(Buffer.concat([this.#rest, Buffer.from(isLineOpen ? '\n' : '')]), true);
  }

  #read(bytes: Buffer, isEnd: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let data = bytes;
    if (this.#isDropping) {
      const end = data.indexOf(LINE_FEED);
      if (end === -1) return rows;
      this.#isDropping = false;
      rows.push(this.#takeRow(undefined, [], TOO_LONG.detail));
      data = data.subarray(end + 1);
    }
    const hasRoom = () => !isEnd && data.length <= MAX_LINE_BYTES;
    for (;;) {
      const { size, isBroken } = this.#parse(data.subarray(0, data.lastIndexOf(LINE_FEED) + 1), rows);
      data = data.subarray(size);
      const lineEnd = data.indexOf(LINE_FEED);
      if (lineEnd === -1 || (!isBroken && hasRoom())) break;
      rows.push(this.#takeRow(data.subarray(0, lineEnd), [], UNCLOSED));
      data = data.subarray(lineEnd + 1);
    }
    this.#isDropping = !hasRoom() && data.length > 0;
    this.#rest = this.#isDropping ? Buffer.alloc(0) : data;
    return rows;
  }

  /** Adds the rows up to one with a broken or unclosed quote. Returns the size of their lines. */
  #parse(lines: Buffer, rows: CsvRow[]): { readonly size: number; readonly isBroken: boolean } {
    let size = 0;
    const onRecord = (cells: string[], { bytes }: { readonly bytes: number }): null => {
      const raw = lines.subarray(size, bytes - 1);
      const isOneLine = !raw.includes(LINE_FEED);
      const quoteError = this.#findQuoteError(lines.subarray(size, bytes), cells, isOneLine);
      if (quoteError && !isOneLine) throw quoteError;
      rows.push(this.#takeRow(raw, cells, quoteError && TEXT_AFTER_QUOTE));
      size = bytes;
      return null;
    };
    try {
      parse(lines, { ...this.#options, relax_quotes: true, on_record: onRecord });
      return { size, isBroken: false };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      return { size, isBroken: error.code !== 'CSV_QUOTE_NOT_CLOSED' };
    }
  }

  /**
   * A quote inside an unquoted cell, such as `6" pipe`, is text, but not in a row of several lines: there it shows that the quote
   * before it was never closed. csv-parse can only allow both, so such rows are parsed again.
   */
  #findQuoteError(lines: Buffer, cells: readonly string[], isOneLine: boolean): CsvError | undefined {
    if (isOneLine && !cells.some((cell) => cell.startsWith('"'))) return undefined;
    try {
      parse(lines, this.#options);
      return undefined;
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      return isOneLine && error.code === 'INVALID_OPENING_QUOTE' ? undefined : error;
    }
  }

  get #options() {
    // One character for each byte: the encoding of a row is recognised later.
    const encoding = 'latin1' as const;
    const record_delimiter = ['\r\n', '\n'];
    return { delimiter: this.#separator, record_delimiter, encoding, relax_column_count: true };
  }

  #takeRow(raw: Buffer | undefined, cells: readonly string[], error: string | undefined): CsvRow {
    const number = this.#line;
    const lastNumber = number + countLineFeeds(raw);
    this.#line = lastNumber + 1;
    const isTooLong = raw !== undefined && raw.length > MAX_LINE_BYTES;
    return isTooLong
      ? { number, lastNumber, raw: undefined, cells, error: TOO_LONG.detail }
      : { number, lastNumber, raw, cells, error };
  }
}

function countLineFeeds(raw: Buffer | undefined): number {
  let count = 0;
  for (let at = raw?.indexOf(LINE_FEED) ?? -1; at !== -1; at = raw?.indexOf(LINE_FEED, at + 1) ?? -1)
    count += 1;
  return count;
}
