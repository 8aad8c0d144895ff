import { type InputLine, MAX_LINE_BYTES } from './line.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Splits a JSON array, or values that stand one after the other, into its items, whatever the chunks they come in. Only
 * one item is held in memory, and at most `MAX_LINE_BYTES` of it: a longer one is counted and dropped. Whether an item is
 * right JSON is for `JSON.parse` to say. Each is given on one line, so that rejected ones can be kept as NDJSON.
 */
export class JsonItemSplitter {
  #line = 1;
  #count = 0;
  #isInArray = false;
  #pieces: Buffer[] = [];
  #length = 0;
  /** The line in which the item begins; 0 between two items. */
  #startLine = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  push(chunk: Buffer): InputLine[] {
    const items: InputLine[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#startLine === 0) {
        if (this.#beginsItem(byte)) start = at;
        else if (byte === LINE_FEED) this.#line += 1;
        if (this.#startLine === 0) continue;
      }
      const end = this.#endsItem(byte);
      if (end !== 'inside') {
        this.#keep(chunk.subarray(start, end === 'with' ? at + 1 : at));
        items.push(this.#item());
        // What ends a bare value, such as the comma behind a number, is no part of it.
        if (end === 'before') at -= 1;
      } else if (byte === LINE_FEED) this.#line += 1;
    }
    if (this.#startLine !== 0) this.#keep(chunk.subarray(start));
    return items;
  }

  /** The item that the input ends in, if any. */
  end(): InputLine[] {
    return this.#startLine === 0 ? [] : [this.#item()];
  }

  /** The line at which an array is still open: the file was cut off. */
  get unclosedAtLine(): number | undefined {
    return this.#isInArray ? this.#line : undefined;
  }

  get count(): number {
    return this.#count;
  }

  #beginsItem(byte: number): boolean {
    if (byte <= SPACE || byte === COMMA) return false;
    if (byte === OPEN_ARRAY && !this.#isInArray) {
      this.#isInArray = true;
      return false;
    }
    if (byte === CLOSE_ARRAY && this.#isInArray) {
      this.#isInArray = false;
      return false;
    }
    this.#startLine = this.#line;
    return true;
  }

  #endsItem(byte: number): 'inside' | 'with' | 'before' {
    if (this.#isInString) {
      // A line break in a string is not JSON: the item is broken. One that began in this line ends with it, so that a
      // quote that is not closed costs one lead where each has a line of its own.
      if (byte === LINE_FEED) {
        this.#isInString = false;
        if (this.#startLine === this.#line) return 'before';
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
      return 'inside';
    }
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
    else if (this.#depth === 0 && this.#endsBareValue(byte)) return 'before';
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#depth = Math.max(this.#depth - 1, 0);
      if (this.#depth === 0) return 'with';
    }
    return 'inside';
  }

  /** None of these can begin an item, so that every item has at least one byte. */
  #endsBareValue(byte: number): boolean {
    return byte === COMMA || byte === LINE_FEED || (byte === CLOSE_ARRAY && this.#isInArray);
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length <= MAX_LINE_BYTES) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #item(): InputLine {
    const raw = this.#length > MAX_LINE_BYTES ? undefined : onOneLine(Buffer.concat(this.#pieces));
    this.#count += 1;
    const item = { number: this.#count, lastNumber: this.#count, startLine: this.#startLine, raw };
    this.#pieces = [];
    this.#length = 0;
    this.#startLine = 0;
    this.#depth = 0;
    this.#isInString = false;
    this.#isEscaped = false;
    return item;
  }
}

/** Line breaks stand between the tokens of JSON only, where a space means the same. */
function onOneLine(raw: Buffer): Buffer {
  for (const [at, byte] of raw.entries()) if (byte === LINE_FEED || byte === CARRIAGE_RETURN) raw[at] = SPACE;
  return raw;
}
