import type { SuggestOptions } from '../leads/column-suggestions.ts';
import { InvalidValue } from '../leads/field-readers.ts';
import type { ParsedLead } from '../leads/parse-lead.ts';

/** Longer lines are rejected unread, so that a file of any content is read in constant memory. */
export const MAX_LINE_BYTES = 1024 * 1024;

export interface InputLine {
  /** The number of the line, or of the item, from 1. */
  readonly number: number;
  /** Of an item: the line in which it begins. Items have numbers of their own because a whole array may be on one line. */
  readonly startLine?: number;
  /** Greater than `number` for a CSV row whose quoted cells contain line breaks. */
  readonly lastNumber: number;
  /** Without the line feed at its end. Undefined if it is longer than `MAX_LINE_BYTES`. */
  readonly raw: Buffer | undefined;
}

export interface ParsedLine extends InputLine {
  readonly parsed: ParsedLead;
}

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** Between the cells of CSV. */
export type Separator = ',' | ';' | '\t';

/** Field names by the names of columns. An empty field name: the column is ignored. */
export type ColumnMap = ReadonlyMap<string, string>;

/** What the header row of CSV needs. */
export interface HeaderOptions extends SuggestOptions {
  readonly columnMap?: ColumnMap | undefined;
  /** Columns that have no field get the suggested one. */
  readonly isMapAuto?: boolean | undefined;
  /** Called with the fields that were suggested, also in words: the options for the command line. */
  readonly onMapped?: ((use: string, columns: ColumnMap) => void) | undefined;
  /** The company of leads that name none: the column may be missing. */
  readonly companyId?: string | undefined;
  /** The only company that exists, for hints. */
  readonly onlyCompanyId?: string | undefined;
  readonly separator?: Separator | undefined;
  /** Of this machine, for hints. */
  readonly localTimeZone?: string | undefined;
  readonly timeZone?: string | undefined;
}

export interface ReadOptions extends HeaderOptions {
  /** The first lines of the file, or the first items of a JSON array, that are left out. */
  readonly skipLines: number;
  /** Absent: recognised. */
  readonly encoding?: Encoding | undefined;
  /** Called if the file is not UTF-8, or is CSV without commas, and this was recognised. */
  readonly onRecognised?: (recognised: Recognised) => void;
  /** Called with the header row of CSV, unchanged. */
  readonly onHeader: (raw: Buffer) => void;
  /** Called for each row of CSV that is skipped because all of its cells are empty. */
  readonly onEmptyRow: () => void;
  /** Called before the first item if the file is a JSON array: items are counted, not lines. */
  readonly onItems: () => void;
}

export interface Recognised {
  readonly encoding?: Encoding | undefined;
  readonly separator?: Separator | undefined;
  /** The line that showed the encoding, if it was not the beginning of the file. */
  readonly line?: InputLine;
}

/** No line of the file can be read. The message follows the name of the file. */
export class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError';
  readonly fix: readonly string[];

  constructor(message: string, ...fix: string[]) {
    super(message);
    this.fix = fix;
  }
}

/** A line that is wrong as a whole. */
export const rejectLine = (line: InputLine, detail: string): ParsedLine => ({
  ...line,
  parsed: { issues: [{ detail }] },
});

export const TOO_LONG = new InvalidValue(
  `is longer than ${MAX_LINE_BYTES.toLocaleString('en')} bytes; shorten it (it is not copied to the rejects file)`,
);
/** Contains nothing but spaces, tabs and carriage returns. */
export const isBlank = ({ raw }: InputLine): boolean =>
  raw?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;

/** Collects the pieces of one line or item. Those of a line that is too long are dropped while they arrive. */
export class LineBytes {
  #pieces: Buffer[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes <= MAX_LINE_BYTES) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** A copy of the line, or undefined if it was too long. Empties the buffer. */
  take(): Buffer | undefined {
    const line = this.#bytes > MAX_LINE_BYTES ? undefined : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    return line;
  }
}

/** Splits a stream of bytes, in chunks of any size, into lines or items. */
export interface Splitter {
  push(chunk: Buffer): InputLine[];
  /** The last line, if no line feed ends it. */
  end(): InputLine[];
}

const LINE_FEED = 0x0a;

/** A carriage return stays part of its line, so that a rejected line can be written back unchanged. */
export class LineSplitter implements Splitter {
  readonly #line = new LineBytes();
  #count = 0;

  push(chunk: Buffer): InputLine[] {
    const lines: InputLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#line.add(chunk.subarray(start, end));
      lines.push(this.#takeLine());
      start = end + 1;
    }
    this.#line.add(chunk.subarray(start));
    return lines;
  }

  end(): InputLine[] {
    return this.#line.isEmpty ? [] : [this.#takeLine()];
  }

  #takeLine(): InputLine {
    this.#count += 1;
    return { number: this.#count, lastNumber: this.#count, raw: this.#line.take() };
  }
}
