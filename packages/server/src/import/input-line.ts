import { formatCount } from '@leadtap/contract';
import type { AssignOptions } from '../leads/assign-fields.ts';
import { InvalidValue } from '../leads/field-readers.ts';
import type { DateFormatGuess } from '../leads/lead-times.ts';
import type { ParsedLead } from '../leads/parse-lead.ts';

/** Longer lines are rejected unread, so that a file of any content is read in constant memory. */
export const MAX_LINE_BYTES = 1024 * 1024;

export interface InputLine {
  /** The number of the line, or of the item of a JSON array, from 1. */
  readonly number: number;
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

export const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
};

/** Field names by the names of columns. An empty field name: the column is ignored. */
export type ColumnMap = ReadonlyMap<string, string>;

/** What the header row of CSV needs. */
export interface HeaderOptions extends AssignOptions {
  readonly columnMap?: ColumnMap | undefined;
  /** Columns that have no field get the suggested one. */
  readonly isMapAuto?: boolean | undefined;
  /** The company of leads that name none: the column may be missing. */
  readonly companyId?: string | undefined;
  /** The only company that exists, for hints. */
  readonly onlyCompanyId?: string | undefined;
  /** Of this machine, for hints. */
  readonly localTimeZone?: string | undefined;
  readonly timeZone?: string | undefined;
  readonly facts: FileFacts;
}

export interface ReadOptions extends HeaderOptions {
  /** The first lines of the file, or the first items of a JSON array, that are left out. */
  readonly skipLines: number;
  /** Absent: recognised. */
  readonly encoding?: Encoding | undefined;
  /** Absent: recognised. */
  readonly separator?: Separator | undefined;
}

/** What the reader finds out about a file while it reads it. */
export class FileFacts {
  /** For messages. */
  readonly name: string;
  /** The items of a JSON array are counted, not its lines. */
  unit: 'line' | 'item' = 'line';
  separator: Separator = ',';
  /** The header row of CSV, unchanged, once it was accepted. */
  header: Buffer | undefined;
  /** Rows of CSV that were skipped because all of their cells are empty. */
  emptyRows = 0;
  /** Sentences about how the file is read, which are still to be printed. */
  notes: string[] = [];
  /** The formats of times that were rejected, by field. */
  readonly timeGuesses = new Map<string, DateFormatGuess>();

  constructor(name: string) {
    this.name = name;
  }
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
export const rejectLine = ({ number, lastNumber, raw }: InputLine, detail: string): ParsedLine => ({
  number,
  lastNumber,
  raw,
  parsed: { issues: [{ detail }] },
});

export const TOO_LONG = new InvalidValue(
  `is longer than ${formatCount(MAX_LINE_BYTES)} bytes; shorten it (it is not copied to the rejects file)`,
);

/** Contains nothing but spaces, tabs and carriage returns. */
export const isBlankLine = ({ raw }: InputLine): boolean =>
  raw?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;

const LINE_FEED = 0x0a;

/**
 * Splits a stream of bytes, in chunks of any size, into lines. A carriage return stays part of its line, so that a rejected line
 * can be written back unchanged.
 */
export class LineSplitter {
  /** The pieces of the last line. Those of a line that is too long are dropped while they arrive. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #count = 0;

  push(chunk: Buffer): InputLine[] {
    const lines: InputLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#add(chunk.subarray(start, end));
      lines.push(this.#takeLine());
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
    return lines;
  }

  /** The last line, if no line feed ends it. */
  end(): InputLine[] {
    return this.#bytes === 0 ? [] : [this.#takeLine()];
  }

  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes <= MAX_LINE_BYTES) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #takeLine(): InputLine {
    const [piece, ...others] = this.#pieces;
    const whole = piece && others.length === 0 ? piece : Buffer.concat(this.#pieces);
    const raw = this.#bytes > MAX_LINE_BYTES ? undefined : whole;
    this.#pieces = [];
    this.#bytes = 0;
    this.#count += 1;
    return { number: this.#count, lastNumber: this.#count, raw };
  }
}
