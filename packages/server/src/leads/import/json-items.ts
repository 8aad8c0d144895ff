import { type InputLine, LineBuffer, type Splitter } from './input-line.ts';

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
 * Splits a JSON array, or a sequence of JSON values, into items. At most one item is held in memory. `JSON.parse` decides
 * later whether an item is valid. Each item is put on one line, so that rejected items can be written as NDJSON.
 */
export class JsonItemSplitter implements Splitter {
  readonly #item = new LineBuffer();
  #line = 1;
  #count = 0;
  #isInArray = false;
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
      if (end === 'no') {
        if (byte === LINE_FEED) this.#line += 1;
        continue;
      }
      this.#item.add(chunk.subarray(start, end === 'after' ? at + 1 : at));
      items.push(this.#takeItem());
      // The byte that ends a bare value, such as the comma after a number, is not part of it.
      if (end === 'before') at -= 1;
    }
    if (this.#startLine !== 0) this.#item.add(chunk.subarray(start));
    return items;
  }

  end(): InputLine[] {
    return this.#startLine === 0 ? [] : [this.#takeItem()];
  }

  /** At the end of the input: the line in which an array is still open, because the file was cut off. */
  get unclosedAtLine(): number | undefined {
    return this.#isInArray ? this.#line : undefined;
  }

  get count(): number {
    return this.#count;
  }

  #beginsItem(byte: number): boolean {
    if (byte <= SPACE || byte === COMMA) return false;
    if (byte === (this.#isInArray ? CLOSE_ARRAY : OPEN_ARRAY)) {
      this.#isInArray = !this.#isInArray;
      return false;
    }
    this.#startLine = this.#line;
    return true;
  }

  /** Whether the item ends before this byte, or after it. */
  #endsItem(byte: number): 'no' | 'before' | 'after' {
    if (this.#isInString) return this.#endsInString(byte);
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
    else if (this.#depth === 0 && this.#endsBareValue(byte)) return 'before';
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#depth = Math.max(this.#depth - 1, 0);
      if (this.#depth === 0) return 'after';
    }
    return 'no';
  }

  #endsInString(byte: number): 'no' | 'before' {
    if (byte === LINE_FEED) {
      // A line break in a string is not JSON: the item is broken. One that began in this line ends with it, so that an
      // unclosed quote costs one lead if each lead has its own line.
      this.#isInString = false;
      if (this.#startLine === this.#line) return 'before';
    }
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
    return 'no';
  }

  /** None of these bytes can begin an item, so that every item has at least one byte. */
  #endsBareValue(byte: number): boolean {
    return byte === COMMA || byte === LINE_FEED || (byte === CLOSE_ARRAY && this.#isInArray);
  }

  #takeItem(): InputLine {
    const raw = this.#item.take();
    if (raw !== undefined) putOnOneLine(raw);
    this.#count += 1;
    const item = { number: this.#count, lastNumber: this.#count, startLine: this.#startLine, raw };
    this.#startLine = 0;
    this.#depth = 0;
    this.#isInString = false;
    this.#isEscaped = false;
    return item;
  }
}

/** Valid JSON has line breaks between its tokens only, where a space means the same. */
function putOnOneLine(raw: Buffer): void {
  for (const lineBreak of [LINE_FEED, CARRIAGE_RETURN])
    for (let at = raw.indexOf(lineBreak); at !== -1; at = raw.indexOf(lineBreak, at + 1)) raw[at] = SPACE;
}
