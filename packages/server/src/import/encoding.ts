/** Text encodings of files: UTF-8, UTF-16, and Windows-1252, which contains Latin-1. */
import { isAscii, isUtf8 } from 'node:buffer';
import { InvalidValue } from '../leads/field-readers.ts';
import { type Encoding, type InputLine, TOO_LONG } from './input-line.ts';

const BYTE_ORDER_MARKS: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
];
const MAX_MARK_BYTES = 3;

const isUtf16 = (encoding: Encoding | undefined): encoding is 'utf-16le' | 'utf-16be' =>
  encoding === 'utf-16le' || encoding === 'utf-16be';

export interface DecodedStream {
  /** Without a byte order mark. UTF-16 is converted to UTF-8; other encodings are unchanged, because they contain ASCII. */
  readonly bytes: AsyncIterable<Buffer>;
  /** As given, or as the byte order mark says. Undefined: unknown. */
  readonly encoding: Encoding | undefined;
  readonly hasMark: boolean;
}

/** Reads the byte order mark, and converts UTF-16. */
export async function decodeStream(
  input: AsyncIterable<Buffer>,
  given: Encoding | undefined,
): Promise<DecodedStream> {
  const chunks = input[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (start.length < MAX_MARK_BYTES) {
    const { done, value } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const marked = BYTE_ORDER_MARKS.find(([, mark]) => start.subarray(0, mark.length).equals(mark));
  // A mark of another encoding than the given one is left for the reader to refuse.
  const mark = marked !== undefined && (given ?? marked[0]) === marked[0] ? marked : undefined;
  const encoding = given ?? marked?.[0];
  async function* all(): AsyncGenerator<Buffer> {
    yield mark === undefined ? start : start.subarray(mark[1].length);
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  const bytes = isUtf16(encoding) ? decodeUtf16(all(), encoding) : all();
  return { bytes, encoding, hasMark: mark !== undefined };
}

/** Halves of surrogate pairs, which no text may contain, become U+FFFD. */
async function* decodeUtf16(
  bytes: AsyncIterable<Buffer>,
  encoding: 'utf-16le' | 'utf-16be',
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

/** The characters 0x80 to 0x9F, in which Windows-1252 differs from Latin-1. Unused codes stay control characters. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Not `TextDecoder`: some versions of Node decode Windows-1252 as Latin-1. */
const decodeWindows1252 = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252.charAt(character.charCodeAt(0) - 0x80));

const NOT_UTF8 = new InvalidValue('contains bytes that are not UTF-8; save the file as UTF-8');
const MIXED = new InvalidValue(
  'contains UTF-8, but earlier lines are Windows-1252; save the file as UTF-8, or add --encoding',
);

export interface LineDecoderOptions {
  /** Undefined: recognised. */
  readonly encoding: Encoding | undefined;
  /** Called with the first line that is not UTF-8, if the file is therefore read as Windows-1252. */
  readonly onWindows1252: (line: InputLine) => void;
}

/**
 * Decodes the lines of a file. The first line that is not ASCII shows the encoding: text in Windows-1252 is hardly ever valid
 * UTF-8. After that, a line in the other encoding is rejected instead of being stored with wrong characters. This needs no
 * second pass, and costs a UTF-8 file nothing but a check of the lines before the first one that is not ASCII.
 */
export class LineDecoder {
  readonly #onWindows1252: LineDecoderOptions['onWindows1252'];
  readonly #isGiven: boolean;
  #encoding: 'utf-8' | 'windows-1252' | undefined;

  constructor({ encoding, onWindows1252 }: LineDecoderOptions) {
    this.#onWindows1252 = onWindows1252;
    this.#isGiven = encoding !== undefined;
    // UTF-16 has been converted to UTF-8.
    this.#encoding = isUtf16(encoding) ? 'utf-8' : encoding;
  }

  decode(line: InputLine): string | InvalidValue {
    const { raw } = line;
    if (raw === undefined) return TOO_LONG;
    this.#encoding ??= this.#recognise(line, raw);
    if (this.#encoding !== 'windows-1252') return isUtf8(raw) ? raw.toString() : NOT_UTF8;
    if (!this.#isGiven && isUtf8(raw) && !isAscii(raw)) return MIXED;
    return decodeWindows1252(raw);
  }

  #recognise(line: InputLine, raw: Buffer): 'utf-8' | 'windows-1252' | undefined {
    if (isUtf8(raw)) return isAscii(raw) ? undefined : 'utf-8';
    this.#onWindows1252(line);
    return 'windows-1252';
  }
}
