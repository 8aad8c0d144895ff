import { isJsonObject } from '../json.ts';
import { InvalidValue } from '../leads/field-readers.ts';
import { parseLead, type ValidationIssue, withCompany } from '../leads/parse-lead.ts';
import { LineDecoder } from './encoding.ts';
import {
  type InputLine,
  isBlank,
  LineBytes,
  LineSplitter,
  type ParsedLine,
  type ReadOptions,
  rejectLine,
  type Splitter,
} from './input-line.ts';

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

/** The item that is being read. */
interface OpenItem {
  readonly startLine: number;
  depth: number;
  isInString: boolean;
  isEscaped: boolean;
}

/**
 * Splits a JSON array, or a sequence of JSON values, into items. At most one item is held in memory. `JSON.parse` decides
 * later whether an item is valid. Each item is put on one line, so that rejected items can be written as NDJSON.
 */
export class JsonItemSplitter implements Splitter {
  readonly #bytes = new LineBytes();
  #line = 1;
  #count = 0;
  #isInArray = false;
  /** Undefined between two items. */
  #open: OpenItem | undefined;

  push(chunk: Buffer): InputLine[] {
    const items: InputLine[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#open === undefined && this.#beginsItem(byte)) {
        this.#open = { startLine: this.#line, depth: 0, isInString: false, isEscaped: false };
        start = at;
      }
      const end = this.#open && this.#endsItem(byte, this.#open);
      if (this.#open && end) {
        this.#bytes.add(chunk.subarray(start, end === 'after' ? at + 1 : at));
        items.push(this.#takeItem(this.#open));
        // The byte that ends a bare value, such as the comma after a number, is read again: it is not part of it.
        if (end === 'before') at -= 1;
      } else if (byte === LINE_FEED) this.#line += 1;
    }
    if (this.#open) this.#bytes.add(chunk.subarray(start));
    return items;
  }

  end(): InputLine[] {
    return this.#open ? [this.#takeItem(this.#open)] : [];
  }

  /** At the end of the input: the place of the item that is missing if the array is still open. */
  takeMissingItem(): InputLine | undefined {
    return this.#isInArray ? this.#nextItem(this.#line, undefined) : undefined;
  }

  #beginsItem(byte: number): boolean {
    if (byte <= SPACE || byte === COMMA) return false;
    if (byte !== (this.#isInArray ? CLOSE_ARRAY : OPEN_ARRAY)) return true;
    this.#isInArray = !this.#isInArray;
    return false;
  }

  /** Whether the item ends before this byte, or after it. */
  #endsItem(byte: number, item: OpenItem): 'before' | 'after' | undefined {
    if (item.isInString) return this.#endsInString(byte, item);
    if (byte === QUOTE) item.isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) item.depth += 1;
    else if (item.depth === 0 && this.#endsBareValue(byte)) return 'before';
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      item.depth -= 1;
      if (item.depth <= 0) return 'after';
    }
    return undefined;
  }

  #endsInString(byte: number, item: OpenItem): 'before' | undefined {
    if (byte === LINE_FEED) {
      // A line break in a string is not JSON: the item is broken. One that began in this line ends with it, so that an
      // unclosed quote costs one lead if each lead has its own line.
      item.isInString = false;
      if (item.startLine === this.#line) return 'before';
    }
    if (item.isEscaped) item.isEscaped = false;
    else if (byte === BACKSLASH) item.isEscaped = true;
    else if (byte === QUOTE) item.isInString = false;
    return undefined;
  }

  /** None of these bytes can begin an item, so that every item has at least one byte. */
  #endsBareValue(byte: number): boolean {
    return byte === COMMA || byte === LINE_FEED || (byte === CLOSE_ARRAY && this.#isInArray);
  }

  #takeItem({ startLine }: OpenItem): InputLine {
    this.#open = undefined;
    const raw = this.#bytes.take();
    // Valid JSON has line breaks between its tokens only, where a space means the same.
    raw?.forEach((byte, at) => {
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) raw[at] = SPACE;
    });
    return this.#nextItem(startLine, raw);
  }

  #nextItem(startLine: number, raw: Buffer | undefined): InputLine {
    this.#count += 1;
    return { number: this.#count, lastNumber: this.#count, startLine, raw };
  }
}

const EXAMPLE = '{"companyId":"acme","firstName":"Ada"}';
const NOT_JSON = 'is not JSON';
const NOT_AN_OBJECT = `is JSON, but not an object; write each lead on a line of its own, such as ${EXAMPLE}`;
const CUT_OFF = 'the array has no closing ]; the file may have been cut off';

/** The line is not JSON at all, as every line of a file in another format. */
export const isNotJson = (issues: readonly ValidationIssue[]): boolean =>
  issues.some(({ field, detail }) => field === undefined && detail.startsWith(NOT_JSON));

function describeSyntaxError(error: unknown): string {
  const [, position] = /position (\d+)/.exec(String(error)) ?? [];
  const where = position === undefined ? '' : ` (character ${Number(position) + 1})`;
  return `${NOT_JSON}${where}; write each lead as one object on one line, such as ${EXAMPLE}`;
}

function parseJsonLine(line: InputLine, decoder: LineDecoder, options: ReadOptions): ParsedLine {
  const text = decoder.decode(line);
  if (text instanceof InvalidValue) return rejectLine(line, text.detail);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return rejectLine(line, describeSyntaxError(error));
  }
  if (!isJsonObject(value)) return rejectLine(line, NOT_AN_OBJECT);
  return { ...line, parsed: parseLead(withCompany(value, options.companyId), options) };
}

async function* readWith(
  splitter: Splitter,
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  // JSON is UTF-8 by its definition, so nothing else is recognised.
  const decoder = new LineDecoder({ encoding: options.encoding ?? 'utf-8', onWindows1252: () => undefined });
  const parse = (lines: readonly InputLine[]) =>
    lines
      .filter((line) => line.number > options.skipLines && !isBlank(line))
      .map((line) => parseJsonLine(line, decoder, options));
  for await (const chunk of bytes) yield parse(splitter.push(chunk));
  yield parse(splitter.end());
}

/** Reads one lead per line, a chunk at a time. */
export const readNdjson = (
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> => readWith(new LineSplitter(), bytes, options);

/** Reads one lead per item of an array, or from objects one after the other, a chunk at a time. */
export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const splitter = new JsonItemSplitter();
  yield* readWith(splitter, bytes, options);
  const missing = splitter.takeMissingItem();
  if (missing) yield [rejectLine(missing, CUT_OFF)];
}
