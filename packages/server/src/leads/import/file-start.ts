/** What the first bytes of a file tell about its format. */

/** Enough for the first line of most files; a longer one is recognised by its beginning. */
const PEEK_BYTES = 4096;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The file holds no text of leads, so that no line of it can be read. */
export class FileFormatError extends Error {
  override readonly name = 'FileFormatError';
  /** What to do instead. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export interface StartedFile {
  /** Up to the end of the first line with something in it, where that is near; without a byte order mark. */
  readonly start: Buffer;
  /** All bytes, those of the start included. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Reads as much as the format needs to be known, and no more: a pipe may fall silent after its first line. */
export async function peek(bytes: AsyncIterable<Buffer>): Promise<StartedFile> {
  const input = bytes[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let start: Buffer = Buffer.alloc(0);
  let isAtEnd = false;
  while (!isAtEnd && start.length < PEEK_BYTES && !hasWholeLine(start)) {
    const { done, value } = await input.next();
    isAtEnd = done === true;
    if (!isAtEnd) chunks.push(value);
    start = Buffer.concat(chunks).subarray(0, PEEK_BYTES);
  }
  const rest = { [Symbol.asyncIterator]: () => input };
  return { start: withoutMark(start), bytes: startingWith(chunks, rest) };
}

const hasWholeLine = (start: Buffer): boolean => {
  const first = start.findIndex((byte) => byte > 0x20);
  return first !== -1 && start.indexOf(LINE_FEED, first) !== -1;
};

async function* startingWith(chunks: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks;
  yield* rest;
}

const withoutMark = (start: Buffer): Buffer =>
  start.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? start.subarray(BYTE_ORDER_MARK.length)
    : start;

const AS_CSV = 'Open it in the program that made it, and save it as CSV (UTF-8).';
const AS_UTF8 = 'Save the file as UTF-8.';

interface Signature {
  readonly bytes: readonly number[];
  readonly is: string;
  readonly hint: string;
}

const SIGNATURES: readonly Signature[] = [
  { bytes: [0x50, 0x4b], is: 'is an Excel workbook (.xlsx) or another ZIP archive', hint: AS_CSV },
  { bytes: [0xd0, 0xcf, 0x11, 0xe0], is: 'is a workbook of an old Excel (.xls)', hint: AS_CSV },
  { bytes: [0x25, 0x50, 0x44, 0x46], is: 'is a PDF', hint: AS_CSV },
  { bytes: [0xff, 0xfe], is: 'is UTF-16', hint: AS_UTF8 },
  { bytes: [0xfe, 0xff], is: 'is UTF-16', hint: AS_UTF8 },
  {
    bytes: [0x1f, 0x8b],
    is: 'is compressed with gzip',
    hint: 'Give it a name that ends in .gz, or unpack it first: gunzip -c FILE | leadtap leads import -',
  },
];

/** Throws `FileFormatError`: one sentence for the whole file is better than one for each of its lines. */
export function refuseForeignFormat(start: Buffer): void {
  const found = SIGNATURES.find(({ bytes }) => bytes.every((byte, index) => start[index] === byte));
  if (found) throw new FileFormatError(found.is, found.hint);
  if (start.includes(0)) throw new FileFormatError('is UTF-16, or no text at all', AS_UTF8);
  if (/^\s*<[!?a-z]/i.test(start.toString('latin1')))
    throw new FileFormatError('is XML or HTML', 'Export the leads as NDJSON, JSON or CSV.');
  if (/^\s*\{\s*"companies"\s*:/.test(start.toString('latin1')))
    throw new FileFormatError('looks like an organisation file', 'For such a file use `leadtap org apply`.');
}

/** Throws where the file was taken for NDJSON only because its name does not say that it is CSV. */
export function refuseCsv(start: Buffer): void {
  const [header = ''] = start.toString().trimStart().split('\n');
  if (/^"?\w+"?[,;\t]/.test(header) && /\bcompanyId\b/.test(header))
    throw new FileFormatError('looks like CSV', 'Add --format csv, or give it a name that ends in .csv.');
}

/**
 * It is JSON that goes over several lines, or holds several leads in one: an array, or an object whose first line has
 * nothing but its opening brace, as every program that indents JSON writes it.
 */
export const isJsonDocument = (start: Buffer): boolean =>
  /^\s*(\[|\{[ \t\r]*\n)/.test(start.toString('latin1'));
