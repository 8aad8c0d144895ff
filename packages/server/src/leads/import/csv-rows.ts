import { rowEnd } from './csv-row-ends.ts';
import { type InputLine, MAX_LINE_BYTES } from './line.ts';
import { ValidationIssue } from './validation-issue.ts';

/** More line breaks than the fields of a lead have room for. Bounds the memory for lines that are nearly empty. */
const MAX_ROW_LINES = 65_536;

const HOW = 'close it behind its cell, and write a quote inside it as ""';
const NEVER_CLOSED = new ValidationIssue(`opens a quote that is never closed; ${HOW}`);
const TOO_FAR = new ValidationIssue(
  `opens a quote that is not closed within ${MAX_LINE_BYTES.toLocaleString('en')} bytes and ${MAX_ROW_LINES.toLocaleString('en')} lines; ${HOW}`,
);
const runsOnTo = (line: number): ValidationIssue =>
  new ValidationIssue(`opens a quote that runs on to a misplaced one in line ${line}; ${HOW}`);

/** A row of CSV, or the one line of a row that is broken. */
export interface CsvRow extends InputLine {
  /** What is wrong with its quotes. */
  readonly broken?: ValidationIssue;
}

const LINE_FEED = Buffer.from('\n');

function joined(lines: readonly InputLine[]): CsvRow[] {
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return [];
  const pieces = lines.flatMap(({ raw = Buffer.alloc(0) }) => [LINE_FEED, raw]);
  return [{ number: first.number, lastNumber: last.lastNumber, raw: Buffer.concat(pieces.slice(1)) }];
}

/**
 * Puts lines together to rows, whose quoted cells may contain line breaks. When a row of several lines turns out to
 * be broken, only its first line is given up, and the others are read anew, each as the beginning of a row.
 *
 * Nobody can tell then which of them were meant as the text of a cell. Taking them all for text would lose every
 * good row behind one stray quote; taking them for rows means that text that looks just like a row of this table
 * becomes a lead. The text of a row that is well formed, and within the limits, is never read as rows.
 */
export class CsvRows {
  /**
   * The lines of a row that is still open. All but the first have an even number of quotes, so that none of them
   * leaves a quote open when it is read anew: no file makes this go over its lines again and again.
   */
  #open: InputLine[] = [];
  /** With their line feeds. */
  #openBytes = 0;

  push(lines: readonly InputLine[]): CsvRow[] {
    return lines.flatMap((line) => this.#add(line));
  }

  /** What is left when no more lines come. */
  end(): CsvRow[] {
    let rows: CsvRow[] = [];
    while (this.#open.length > 0) rows = [...rows, ...this.#giveUp(NEVER_CLOSED)];
    return rows;
  }

  #add(line: InputLine): CsvRow[] {
    const isFirst = this.#open.length === 0;
    const end = line.raw === undefined ? 'ended' : rowEnd(line.raw, !isFirst);
    // A line that is broken by itself ends where it ends: what is wrong with it shows when it is parsed.
    if (isFirst && end !== 'open') return [line];
    this.#open.push(line);
    this.#openBytes += (line.raw?.length ?? MAX_LINE_BYTES) + 1;
    if (this.#openBytes - 1 > MAX_LINE_BYTES || this.#open.length > MAX_ROW_LINES)
      return this.#giveUp(TOO_FAR);
    if (end === 'misplaced') return this.#giveUp(runsOnTo(line.number));
    return end === 'open' ? [] : joined(this.#takeOpen());
  }

  #giveUp(broken: ValidationIssue): CsvRow[] {
    const [first, ...others] = this.#takeOpen();
    return first === undefined ? [] : [{ ...first, broken }, ...this.push(others)];
  }

  #takeOpen(): InputLine[] {
    const lines = this.#open;
    this.#open = [];
    this.#openBytes = 0;
    return lines;
  }
}
