import { type InputLine, MAX_LINE_BYTES } from './line.ts';

const LINE_FEED = 0x0a;

/**
 * Splits bytes into lines, whatever the chunks they come in. A carriage return stays part of its line, so that a
 * line can be given back as it stood. A line that is too long is counted and dropped while it arrives.
 */
export class LineSplitter {
  #lastNumber = 0;
  #pieces: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): InputLine[] {
    const lines: InputLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(this.#line(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The last line, when no line feed ended it. */
  end(): InputLine[] {
    return this.#length === 0 ? [] : [this.#line(Buffer.alloc(0))];
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length <= MAX_LINE_BYTES) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #line(tail: Buffer): InputLine {
    const tooLong = this.#length + tail.length > MAX_LINE_BYTES;
    const whole = this.#pieces.length === 0 ? tail : Buffer.concat([...this.#pieces, tail]);
    this.#lastNumber += 1;
    this.#pieces = [];
    this.#length = 0;
    return { number: this.#lastNumber, lastNumber: this.#lastNumber, raw: tooLong ? undefined : whole };
  }
}

/** Nothing but white space stands in it. */
export const isBlank = ({ raw }: InputLine): boolean =>
  raw?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;
