import type { LineEnds } from './line-splitter.ts';

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * Finds where CSV rows end: at line feeds outside quoted cells. It tells no more than that; what the cells hold is
 * csv-parse's to say. Rows are split apart from their parsing because a parser that meets a broken row cannot
 * give back its text and its line numbers, nor go on behind it.
 */
export class CsvRowEnds implements LineEnds {
  inner = 0;
  #started = false;
  #quoted = false;
  /** A quote that closed a cell: a second one right behind it is a quote inside the cell. */
  #closed = false;
  #cellStarts = true;
  /** A line feed begins a line only if a byte follows it. */
  #afterLineFeed = false;

  find(chunk: Buffer, from: number): number {
    if (!this.#started) this.#startRow();
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index];
      if (this.#quoted) this.#insideQuotes(byte);
      else if (byte === LINE_FEED) {
        this.#started = false;
        return index;
      } else this.#outsideQuotes(byte);
    }
    return -1;
  }

  #startRow(): void {
    this.#started = true;
    this.#cellStarts = true;
    this.inner = 0;
  }

  #insideQuotes(byte: number | undefined): void {
    if (this.#afterLineFeed) this.inner += 1;
    this.#afterLineFeed = byte === LINE_FEED;
    this.#closed = byte === QUOTE;
    this.#quoted = !this.#closed;
  }

  #outsideQuotes(byte: number | undefined): void {
    // A quote in the middle of a bare cell opens nothing: the row is broken, but it ends with its line.
    this.#quoted = byte === QUOTE && (this.#cellStarts || this.#closed);
    this.#cellStarts = byte === COMMA;
    this.#closed = false;
  }
}
