/** Text encodings of files: UTF-8, UTF-16, and Windows-1252, which contains Latin-1. */
import { isAscii, isUtf8 } from 'node:buffer';
import { InvalidValue } from '../leads/field-readers.ts';
import { type Encoding, type FileFacts, type InputLine, TOO_LONG } from './input-line.ts';

const BYTE_ORDER_MARKS: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
];
const isUtf16 = (encoding: Encoding | undefined): encoding is 'utf-16le' | 'utf-16be' =>
  encoding === 'utf-16le' || encoding === 'utf-16be';

export interface DecodedStream {
  /** Without a byte order mark. UTF-16 is converted to UTF-8; other encodings are unchanged, because they contain ASCII. */
  readonly bytes: AsyncIterable<Buffer>;
  /** As given, or as the byte order mark says. Undefined: unknown. */
  readonly encoding: Encoding | undefined;
}

/** The first bytes of a stream, up to where they are enough, and the whole stream. */
export async function peek(
  input: AsyncIterable<Buffer>,
  isEnough: (start: Buffer) => boolean,
): Promise<{ start: Buffer; bytes: AsyncIterable<Buffer> }> {
  const chunks = input[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (!isEnough(start)) {
    const { done, value } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield start;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { start, bytes: all() };
}

/** Reads the byte order mark, and converts UTF-16. */
export async function decodeStream(
  input: AsyncIterable<Buffer>,
  given: Encoding | undefined,
): Promise<DecodedStream> {
  const { start, bytes } = await peek(input, ({ length }) => length >= 3);
  const [marked, mark] =
    BYTE_ORDER_MARKS.find(([, bytes]) => start.subarray(0, bytes.length).equals(bytes)) ?? [];
  const encoding = given ?? marked;
  // A mark of another encoding than the given one is left for the reader to refuse.
  const text = mark && encoding === marked ? skipBytes(bytes, mark.length) : bytes;
  return { bytes: isUtf16(encoding) ? decodeUtf16(text, encoding) : text, encoding };
}

/** The first chunk has at least as many. */
async function* skipBytes(bytes: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let skipped = count;
  for await (const chunk of bytes) {
    yield chunk.subarray(skipped);
    skipped = 0;
  }
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

const decodeUtf8 = (bytes: Buffer): string => bytes.toString();

const NOT_UTF8 = new InvalidValue('contains bytes that are not UTF-8; save the file as UTF-8');
const MIXED = new InvalidValue(
  'contains UTF-8, but earlier lines are Windows-1252; save the file as UTF-8, or add --encoding',
);

/**
 * Decodes the lines of a file. The first line that is not ASCII shows the encoding: text in Windows-1252 is hardly ever valid
 * UTF-8. After that, a line in the other encoding is rejected instead of being stored with wrong characters.
 */
export class LineDecoder {
  readonly #facts: FileFacts;
  readonly #isGiven: boolean;
  #encoding: 'utf-8' | 'windows-1252' | undefined;

  /** Without an encoding it is recognised, and noted if it is Windows-1252. */
  constructor({ encoding, facts }: { readonly encoding?: Encoding | undefined; readonly facts: FileFacts }) {
    this.#facts = facts;
    this.#isGiven = encoding !== undefined;
    // UTF-16 has been converted to UTF-8.
    this.#encoding = isUtf16(encoding) ? 'utf-8' : encoding;
  }

  decode(line: InputLine): string | InvalidValue {
    const decode = this.decoderOf(line);
    return decode instanceof InvalidValue ? decode : decode(line.raw ?? Buffer.alloc(0));
  }

  /** How the text of a line is decoded, or why it cannot be. */
  decoderOf({ number, raw }: InputLine): ((bytes: Buffer) => string) | InvalidValue {
    if (raw === undefined) return TOO_LONG;
    const isValidUtf8 = isUtf8(raw);
    if (this.#encoding === undefined && !isAscii(raw)) this.#recognise(isValidUtf8, number);
    if (this.#encoding !== 'windows-1252') return isValidUtf8 ? decodeUtf8 : NOT_UTF8;
    return !this.#isGiven && isValidUtf8 && !isAscii(raw) ? MIXED : decodeWindows1252;
  }

  #recognise(isValidUtf8: boolean, line: number): void {
    this.#encoding = isValidUtf8 ? 'utf-8' : 'windows-1252';
    if (!isValidUtf8)
      this.#facts.notes.push(
        `${this.#facts.name} is read as Windows-1252 (Latin-1) because of line ${line}. If that is wrong, use --encoding.`,
      );
  }
}
